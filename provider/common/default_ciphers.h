/*
 * The CPU side: the default provider's own AES, called without a detour.
 *
 * A private library context loads the default provider; its dispatch functions
 * are then called directly. (A child library context would mirror the parent's
 * providers, us among them, and going through EVP costs up to 14 % on small
 * updates.)
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_DEFAULT_CIPHERS_H
#define GPUAES_PROVIDER_COMMON_DEFAULT_CIPHERS_H

#include <openssl/core_dispatch.h>
#include <openssl/provider.h>

#include "base/key_size.h"

enum aes_mode { AES_ECB, AES_CBC, AES_CTR, AES_MODES };

struct cpu_cipher {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_dupctx_fn *dupctx;
    OSSL_FUNC_cipher_encrypt_init_fn *encrypt_init;
    OSSL_FUNC_cipher_decrypt_init_fn *decrypt_init;
    OSSL_FUNC_cipher_update_fn *update;
    OSSL_FUNC_cipher_final_fn *final;
    OSSL_FUNC_cipher_cipher_fn *cipher;
    OSSL_FUNC_cipher_get_params_fn *get_params;
    OSSL_FUNC_cipher_gettable_params_fn *gettable_params;
    OSSL_FUNC_cipher_get_ctx_params_fn *get_ctx_params;
    OSSL_FUNC_cipher_gettable_ctx_params_fn *gettable_ctx_params;
    OSSL_FUNC_cipher_set_ctx_params_fn *set_ctx_params;
    OSSL_FUNC_cipher_settable_ctx_params_fn *settable_ctx_params;
};

struct cpu {
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider;
    void *context; /* the default provider's, for newctx */
};

/* 1, or 0 if the default provider cannot be loaded or lacks a function. */
int cpu_open(struct cpu *cpu);
void cpu_close(struct cpu *cpu);

/*
 * The functions of AES with a key of 16, 24 or 32 bytes. They are libcrypto's,
 * the same for the whole process; valid once cpu_open() has succeeded.
 */
const struct cpu_cipher *cpu_cipher(enum aes_mode mode, unsigned key_bytes);

#endif
