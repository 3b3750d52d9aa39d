/*
 * One message from initialisation to end: what concerns all parts of its context.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_MESSAGE_H
#define GPUAES_PROVIDER_CIPHERS_AES_MESSAGE_H

#include "provider/ciphers/context.h"

struct aes_context *aes_message_new(struct provider *provider, const struct aes_cipher *cipher);

struct aes_context *aes_message_copy(const struct aes_context *original);

/* As OSSL_FUNC_cipher_encrypt_init() or, without `encrypting`, OSSL_FUNC_cipher_decrypt_init(). */
int aes_message_init(struct aes_context *context, int encrypting, const unsigned char *key,
                     size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                     const OSSL_PARAM params[]);

OSSL_FUNC_cipher_final_fn aes_final;

void aes_message_free(struct aes_context *context);

#endif
