/*
 * AES-GCM, NIST SP 800-38D: what EVP calls, but for updates; see gcm_update.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_GCM_CONTEXT_H
#define GPUAES_PROVIDER_CIPHERS_GCM_GCM_CONTEXT_H

#include "provider/ciphers/context.h"

void *gcm_new(struct provider *provider, const struct cipher *cipher);
OSSL_FUNC_cipher_freectx_fn gcm_free;
OSSL_FUNC_cipher_dupctx_fn gcm_copy;
OSSL_FUNC_cipher_encrypt_init_fn gcm_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn gcm_decrypt_init;
OSSL_FUNC_cipher_get_ctx_params_fn gcm_get_params;
OSSL_FUNC_cipher_set_ctx_params_fn gcm_set_params;

#endif
