/*
 * What EVP calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/dispatch.h"

#include "provider/ciphers/gcm/parameters.h"
#include "provider/ciphers/gcm/update.h"
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
    gcm_context_free(context);
}

static void *dupctx(void *context)
{
    return gcm_context_copy(context);
}

HOT static int encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                            const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct gcm_context *c = context;
    if (key == NULL && iv != NULL && params == NULL && gcm_begin_again(c, 1, iv_bytes))
        return c->cipher->cpu.encrypt_init(c->cpu, NULL, 0, iv, iv_bytes, NULL);
    return gcm_init(c, 1, key, key_bytes, iv, iv_bytes, params);
}

HOT static int decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                            const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct gcm_context *c = context;
    if (key == NULL && iv != NULL && params == NULL && gcm_begin_again(c, 0, iv_bytes))
        return c->cipher->cpu.decrypt_init(c->cpu, NULL, 0, iv, iv_bytes, NULL);
    return gcm_init(c, 0, key, key_bytes, iv, iv_bytes, params);
}

/* NULL: the key stays as it is, and the IV or the parameters are new. */
static int encrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const struct skey *k = key;
    return gcm_init(context, 1, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,
                    iv_bytes, params);
}

static int decrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const struct skey *k = key;
    return gcm_init(context, 0, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,
                    iv_bytes, params);
}

/*
 * Whether a call is the default provider's alone: it names none of ours, and nothing that begins a
 * message, is TLS's or an IV's. Each message asks for its tag or tells it, so a few instructions
 * count.
 */
static inline int is_theirs(const struct gcm_context *c, const OSSL_PARAM *params)
{
    if (!gcm_has_theirs(c))
        return 0;
    for (; params->key != NULL; params++) {
        const char *key = params->key;
        if (key[0] == 'c' || key[0] == 'd' || key[0] == 'i' || (key[0] == 't' && key[1] == 'l'))
            return 0;
    }
    return 1;
}

HOT static int get_ctx_params(void *context, OSSL_PARAM params[])
{
    const struct gcm_context *c = context;
    return is_theirs(c, params) ? c->cipher->cpu.get_ctx_params(c->cpu, params)
                                : gcm_get_params(context, params);
}

HOT static int set_ctx_params(void *context, const OSSL_PARAM params[])
{
    const struct gcm_context *c = context;
    return is_theirs(c, params) ? c->cipher->cpu.set_ctx_params(c->cpu, params)
                                : gcm_set_params(context, params);
}

/* ---- The tables ------------------------------------------------------------------------ */

/* What has no context to find the cipher by. */
#define GCM_DEFINE(bits, names, ctr)                                                               \
    static OSSL_FUNC_cipher_newctx_fn newctx_##bits;                                               \
    static OSSL_FUNC_cipher_get_params_fn get_params_##bits;                                       \
    static OSSL_FUNC_cipher_gettable_params_fn gettable_params_##bits;                             \
    static OSSL_FUNC_cipher_gettable_ctx_params_fn gettable_ctx_params_##bits;                     \
    static OSSL_FUNC_cipher_settable_ctx_params_fn settable_ctx_params_##bits;                     \
    static void *newctx_##bits(void *provider)                                                     \
    {                                                                                              \
        return gcm_context_new(provider, &gcm_ciphers[GCM_##bits]);                                \
    }                                                                                              \
    static int get_params_##bits(OSSL_PARAM params[])                                              \
    {                                                                                              \
        return gcm_ciphers[GCM_##bits].cpu.get_params(params);                                     \
    }                                                                                              \
    static const OSSL_PARAM *gettable_params_##bits(void *provider)                                \
    {                                                                                              \
        return gcm_ciphers[GCM_##bits].cpu.gettable_params(                                        \
            ((struct provider *)provider)->cpu.context);                                           \
    }                                                                                              \
    static const OSSL_PARAM *gettable_ctx_params_##bits(void *context, void *provider)             \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return gcm_ciphers[GCM_##bits].gettable;                                                   \
    }                                                                                              \
    static const OSSL_PARAM *settable_ctx_params_##bits(void *context, void *provider)             \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return gcm_ciphers[GCM_##bits].settable;                                                   \
    }                                                                                              \
    static const OSSL_DISPATCH functions_##bits[] = {                                              \
        FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, newctx_##bits),                                          \
        FUNCTION(OSSL_FUNC_CIPHER_FREECTX, freectx),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, dupctx),                                                 \
        FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, encrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, decrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, gcm_update),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, gcm_final),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, gcm_cipher),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##bits),                                  \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, gettable_params_##bits),                        \
        FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params_##bits),                \
        FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, set_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params_##bits),                \
        FUNCTION(CIPHER_ENCRYPT_SKEY_INIT, encrypt_skey_init),                                     \
        FUNCTION(CIPHER_DECRYPT_SKEY_INIT, decrypt_skey_init),                                     \
        {0, NULL}};

GCM_CIPHERS(GCM_DEFINE)

const OSSL_DISPATCH *const gcm_functions[GCM_CIPHER_COUNT] = {
#define GCM_TABLE(bits, names, ctr) [GCM_##bits] = functions_##bits,
    GCM_CIPHERS(GCM_TABLE)
#undef GCM_TABLE
};
