/*
 * What EVP calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/dispatch.h"

#include "provider/ciphers/aes/message.h"
#include "provider/ciphers/aes/parameters.h"
#include "provider/ciphers/aes/pipeline.h"
#include "provider/ciphers/aes/update.h"
#include "provider/keys/skey.h"

static OSSL_FUNC_cipher_freectx_fn freectx;
static OSSL_FUNC_cipher_dupctx_fn dupctx;
static OSSL_FUNC_cipher_encrypt_init_fn encrypt_init;
static OSSL_FUNC_cipher_decrypt_init_fn decrypt_init;
static cipher_skey_init_fn encrypt_skey_init;
static cipher_skey_init_fn decrypt_skey_init;
static OSSL_FUNC_cipher_get_ctx_params_fn get_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn set_ctx_params;

static void freectx(void *context)
{
    if (context == NULL)
        return;
    aes_pipeline_end(context);
    aes_message_free(context);
}

static void *dupctx(void *context)
{
    struct aes_context *copy = aes_message_copy(context);
    if (copy == NULL || aes_pipeline_copy(copy, context))
        return copy;
    aes_message_free(copy);
    return NULL;
}

static int encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    aes_pipeline_end(context);
    return aes_message_init(context, 1, key, key_bytes, iv, iv_bytes, params);
}

static int decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    aes_pipeline_end(context);
    return aes_message_init(context, 0, key, key_bytes, iv, iv_bytes, params);
}

/* NULL: the key stays as it is, and the IV or the parameters are new. */
static int encrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const struct skey *k = key;
    return encrypt_init(context, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,
                        iv_bytes, params);
}

static int decrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const struct skey *k = key;
    return decrypt_init(context, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,
                        iv_bytes, params);
}

static int get_ctx_params(void *context, OSSL_PARAM params[])
{
    struct aes_context *c = context;
    return aes_get_params(c->pipeline == NULL ? c : c->pipeline->pipe[0], params);
}

/* Pipes are told the same. */
static int set_ctx_params(void *context, const OSSL_PARAM params[])
{
    struct aes_context *c = context;
    int ok = aes_set_params(c, params);
    for (size_t i = 0; c->pipeline != NULL && i < c->pipeline->pipes; i++)
        ok &= aes_set_params(c->pipeline->pipe[i], params);
    return ok;
}

/* ---- The tables ------------------------------------------------------------------------ */

/* What has no context to find the cipher by. */
#define AES_DEFINE(bits, MODE, mode, names)                                                        \
    static OSSL_FUNC_cipher_newctx_fn newctx_##bits##_##mode;                                      \
    static OSSL_FUNC_cipher_get_params_fn get_params_##bits##_##mode;                              \
    static OSSL_FUNC_cipher_gettable_params_fn gettable_params_##bits##_##mode;                    \
    static OSSL_FUNC_cipher_gettable_ctx_params_fn gettable_ctx_params_##bits##_##mode;            \
    static OSSL_FUNC_cipher_settable_ctx_params_fn settable_ctx_params_##bits##_##mode;            \
    static void *newctx_##bits##_##mode(void *provider)                                            \
    {                                                                                              \
        return aes_message_new(provider, &aes_ciphers[AES_##bits##_##MODE]);                       \
    }                                                                                              \
    static int get_params_##bits##_##mode(OSSL_PARAM params[])                                     \
    {                                                                                              \
        return aes_ciphers[AES_##bits##_##MODE].cpu.get_params(params);                            \
    }                                                                                              \
    static const OSSL_PARAM *gettable_params_##bits##_##mode(void *provider)                       \
    {                                                                                              \
        return aes_ciphers[AES_##bits##_##MODE].cpu.gettable_params(                               \
            ((struct provider *)provider)->cpu.context);                                           \
    }                                                                                              \
    static const OSSL_PARAM *gettable_ctx_params_##bits##_##mode(void *context, void *provider)    \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return aes_ciphers[AES_##bits##_##MODE].gettable;                                          \
    }                                                                                              \
    static const OSSL_PARAM *settable_ctx_params_##bits##_##mode(void *context, void *provider)    \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return aes_ciphers[AES_##bits##_##MODE].settable;                                          \
    }                                                                                              \
    const OSSL_DISPATCH aes_##bits##_##mode[] = {                                                  \
        FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, newctx_##bits##_##mode),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_FREECTX, freectx),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, dupctx),                                                 \
        FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, encrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, decrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, aes_update),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, aes_final),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, aes_cipher),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##bits##_##mode),                         \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, gettable_params_##bits##_##mode),               \
        FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params_##bits##_##mode),       \
        FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, set_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params_##bits##_##mode),       \
        FUNCTION(CIPHER_ENCRYPT_SKEY_INIT, encrypt_skey_init),                                     \
        FUNCTION(CIPHER_DECRYPT_SKEY_INIT, decrypt_skey_init),                                     \
        FUNCTION(PIPELINE_ENCRYPT_INIT, aes_pipeline_encrypt_init),                                \
        FUNCTION(PIPELINE_DECRYPT_INIT, aes_pipeline_decrypt_init),                                \
        FUNCTION(PIPELINE_UPDATE, aes_pipeline_update),                                            \
        FUNCTION(PIPELINE_FINAL, aes_pipeline_final),                                              \
        {0, NULL}};

AES_CIPHERS(AES_DEFINE)
