/*
 * What EVP calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/dispatch.h"

#include "provider/ciphers/gcm/parameters.h"
#include "provider/ciphers/gcm/gcm_update.h"
#include "provider/common/cipher_table.h"
#include "provider/keys/skey.h"

CIPHER_DECLARE;

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

SKEY_INITS

/*
 * Whether a call is the default provider's alone: it has no parameters, or names none of ours, and
 * nothing that begins a message, is TLS's or an IV's. Each message asks for its tag or tells it, so
 * a few instructions count.
 */
static inline int is_theirs(const OSSL_PARAM *params)
{
    if (params == NULL)
        return 1;
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
    return is_theirs(params) ? c->cipher->cpu.get_ctx_params(c->cpu, params)
                             : gcm_get_params(context, params);
}

HOT static int set_ctx_params(void *context, const OSSL_PARAM params[])
{
    const struct gcm_context *c = context;
    return is_theirs(params) ? c->cipher->cpu.set_ctx_params(c->cpu, params)
                             : gcm_set_params(context, params);
}

/* ---- The tables ------------------------------------------------------------------------ */

#define GCM_DEFINE(bits, names, ctr)                                                               \
    CIPHER_FUNCTIONS(bits, gcm_ciphers[GCM_##bits], gcm_context_new)                               \
    static const OSSL_DISPATCH functions_##bits[] = {                                              \
        CIPHER_ROWS(bits),                                                                         \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, gcm_update),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, gcm_final),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, gcm_cipher),                                             \
        {0, NULL}};

GCM_CIPHERS(GCM_DEFINE)

const OSSL_DISPATCH *const gcm_functions[GCM_CIPHER_COUNT] = {
#define GCM_TABLE(bits, names, ctr) [GCM_##bits] = functions_##bits,
    GCM_CIPHERS(GCM_TABLE)
#undef GCM_TABLE
};
