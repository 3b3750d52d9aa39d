/*
 * Parameters of the AES-GCM contexts: the default provider's, and ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_PARAMETERS_H
#define GPUAES_PROVIDER_CIPHERS_GCM_PARAMETERS_H

#include "provider/ciphers/gcm/gcm_state.h"

int gcm_get_params(struct gcm_context *context, OSSL_PARAM params[]);
int gcm_set_params(struct gcm_context *context, const OSSL_PARAM params[]);

/* Returns 0 with an error raised for a value that cannot be set; nothing is. */
int gcm_check_params(const struct gcm_context *context, const OSSL_PARAM params[]);

/* Fills the lists of a cipher; `cpu_provider` is the default provider's context. */
void gcm_list_params(struct gcm_cipher *cipher, void *cpu_provider);

#endif
