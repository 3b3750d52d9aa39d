/*
 * AES-XTS: what EVP calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_XTS_XTS_H
#define GPUAES_PROVIDER_CIPHERS_XTS_XTS_H

#include "provider/ciphers/context.h"

void *xts_new(struct provider *provider, const struct cipher *cipher);
OSSL_FUNC_cipher_freectx_fn xts_free;
OSSL_FUNC_cipher_dupctx_fn xts_copy;
OSSL_FUNC_cipher_encrypt_init_fn xts_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn xts_decrypt_init;
OSSL_FUNC_cipher_update_fn xts_update;
OSSL_FUNC_cipher_cipher_fn xts_cipher;
OSSL_FUNC_cipher_final_fn xts_final;
OSSL_FUNC_cipher_get_ctx_params_fn xts_get_params;
OSSL_FUNC_cipher_set_ctx_params_fn xts_set_params;

#endif
