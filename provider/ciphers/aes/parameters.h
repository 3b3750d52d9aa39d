/*
 * Parameters of the AES contexts: the default provider's, and ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_PARAMETERS_H
#define GPUAES_PROVIDER_CIPHERS_AES_PARAMETERS_H

#include "provider/ciphers/context.h"
#include "provider/common/device_params.h"

int aes_get_params(struct aes_context *context, OSSL_PARAM params[]);
int aes_set_params(struct aes_context *context, const OSSL_PARAM params[]);

/* Fills the lists of a cipher; `cpu_provider` is the default provider's context. */
void aes_list_params(struct aes_cipher *cipher, void *cpu_provider);

/* What a call names, besides the default provider's. */
struct aes_params {
    struct device_params device;
    int names_tls;
};

/*
 * Reads them before the default provider's part, and raises an error for a value that cannot be
 * set; sets them after it.
 */
int aes_read_params(const struct aes_context *context, const OSSL_PARAM params[],
                    struct aes_params *read);
int aes_apply_params(struct aes_context *context, const struct aes_params *read);

#endif
