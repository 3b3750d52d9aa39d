/*
 * What dispatch tables of ciphers have in common, as macros: the functions that EVP calls without a
 * context to find the cipher by, and the rows of a table.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_CIPHER_TABLE_H
#define GPUAES_PROVIDER_COMMON_CIPHER_TABLE_H

#include "provider/common/core_3_5.h"
#include "provider/common/provider.h"

/* Declares the functions of CIPHER_ROWS that a file has once for all its ciphers. */
#define CIPHER_DECLARE                                                                             \
    static OSSL_FUNC_cipher_freectx_fn freectx;                                                    \
    static OSSL_FUNC_cipher_dupctx_fn dupctx;                                                      \
    static OSSL_FUNC_cipher_encrypt_init_fn encrypt_init;                                          \
    static OSSL_FUNC_cipher_decrypt_init_fn decrypt_init;                                          \
    static OSSL_FUNC_cipher_get_ctx_params_fn get_ctx_params;                                      \
    static OSSL_FUNC_cipher_set_ctx_params_fn set_ctx_params

/*
 * Defines the functions of one cipher, whose names end with `id`. `cipher` has the default
 * provider's functions as `cpu`, and lists of parameters; create(provider, &cipher) makes contexts.
 */
#define CIPHER_FUNCTIONS(id, cipher, create)                                                       \
    static OSSL_FUNC_cipher_newctx_fn newctx_##id;                                                 \
    static OSSL_FUNC_cipher_get_params_fn get_params_##id;                                         \
    static OSSL_FUNC_cipher_gettable_params_fn gettable_params_##id;                               \
    static OSSL_FUNC_cipher_gettable_ctx_params_fn gettable_ctx_params_##id;                       \
    static OSSL_FUNC_cipher_settable_ctx_params_fn settable_ctx_params_##id;                       \
    static void *newctx_##id(void *provider)                                                       \
    {                                                                                              \
        return create(provider, &(cipher));                                                        \
    }                                                                                              \
    static int get_params_##id(OSSL_PARAM params[])                                                \
    {                                                                                              \
        return (cipher).cpu.get_params(params);                                                    \
    }                                                                                              \
    static const OSSL_PARAM *gettable_params_##id(void *provider)                                  \
    {                                                                                              \
        return (cipher).cpu.gettable_params(((struct provider *)provider)->cpu.context);           \
    }                                                                                              \
    static const OSSL_PARAM *gettable_ctx_params_##id(void *context, void *provider)               \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return (cipher).gettable;                                                                  \
    }                                                                                              \
    static const OSSL_PARAM *settable_ctx_params_##id(void *context, void *provider)               \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return (cipher).settable;                                                                  \
    }

/* The rows of a cipher, without those of text: update, final, cipher. */
#define CIPHER_ROWS(id)                                                                            \
    FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, newctx_##id), FUNCTION(OSSL_FUNC_CIPHER_FREECTX, freectx),   \
        FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, dupctx),                                                 \
        FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, encrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, decrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##id),                                    \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, gettable_params_##id),                          \
        FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params_##id),                  \
        FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, set_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params_##id),                  \
        FUNCTION(CIPHER_ENCRYPT_SKEY_INIT, encrypt_skey_init),                                     \
        FUNCTION(CIPHER_DECRYPT_SKEY_INIT, decrypt_skey_init)

#endif
