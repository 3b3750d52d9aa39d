/*
 * Parameters of the AES contexts: the default provider's, and ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_PARAMETERS_H
#define GPUAES_PROVIDER_CIPHERS_AES_PARAMETERS_H

#include "provider/ciphers/aes/context.h"

int aes_get_params(struct aes_context *context, OSSL_PARAM params[]);
int aes_set_params(struct aes_context *context, const OSSL_PARAM params[]);

/* Fills the lists of a cipher; `cpu_provider` is the default provider's context. */
void aes_list_params(struct aes_cipher *cipher, void *cpu_provider);

/* Our parameters that a call names; what it does not name stays as it is. */
struct aes_params {
    int names_memory, names_stream, names_tls;
    unsigned memory;
    uint64_t stream;
};

/*
 * Reads them before the default provider's part, and raises an error for a value that cannot be
 * set; sets them after it.
 */
int aes_read_params(const struct aes_context *context, const OSSL_PARAM params[],
                    struct aes_params *read);
int aes_apply_params(struct aes_context *context, const struct aes_params *read);

#endif
