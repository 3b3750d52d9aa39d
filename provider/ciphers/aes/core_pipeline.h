/*
 * What <openssl/core_dispatch.h> says of cipher pipelines since OpenSSL 3.5, so that a module
 * that is built with older headers has them too: an older libcrypto skips functions that it
 * does not know.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_CORE_PIPELINE_H
#define GPUAES_PROVIDER_CIPHERS_AES_CORE_PIPELINE_H

#include <openssl/core.h>
#include <stddef.h>

/* OSSL_FUNC_CIPHER_PIPELINE_*, and EVP_MAX_PIPES. */
enum {
    PIPELINE_ENCRYPT_INIT = 15,
    PIPELINE_DECRYPT_INIT = 16,
    PIPELINE_UPDATE = 17,
    PIPELINE_FINAL = 18,
    PIPES_MOST = 32
};

/* OSSL_FUNC_cipher_pipeline_*_fn; see provider-cipher(7). Arrays have `pipes` elements. */
typedef int pipeline_init_fn(void *context, const unsigned char *key, size_t key_bytes,
                             size_t pipes, const unsigned char **iv, size_t iv_bytes,
                             const OSSL_PARAM params[]);
typedef int pipeline_update_fn(void *context, size_t pipes, unsigned char **out, size_t *out_bytes,
                               const size_t *room, const unsigned char **in,
                               const size_t *in_bytes);
typedef int pipeline_final_fn(void *context, size_t pipes, unsigned char **out, size_t *out_bytes,
                              const size_t *room);

#endif
