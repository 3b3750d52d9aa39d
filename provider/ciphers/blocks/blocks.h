/*
 * ECB, CBC and CTR: what EVP calls, but for updates; see blocks_update.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_H
#define GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_H

#include "provider/ciphers/context.h"

void *blocks_new(struct provider *provider, const struct cipher *cipher);
OSSL_FUNC_cipher_freectx_fn blocks_free;
OSSL_FUNC_cipher_dupctx_fn blocks_copy;
OSSL_FUNC_cipher_encrypt_init_fn blocks_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn blocks_decrypt_init;
OSSL_FUNC_cipher_final_fn blocks_final;
OSSL_FUNC_cipher_get_ctx_params_fn blocks_get_params;
OSSL_FUNC_cipher_set_ctx_params_fn blocks_set_params;

#endif
