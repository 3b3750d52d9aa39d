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
#include "provider/common/cipher_table.h"
#include "provider/keys/skey.h"

CIPHER_DECLARE;

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

SKEY_INITS

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

#define AES_DEFINE(bits, MODE, mode, names)                                                        \
    CIPHER_FUNCTIONS(bits##_##mode, aes_ciphers[AES_##bits##_##MODE], aes_message_new)             \
    const OSSL_DISPATCH aes_##bits##_##mode[] = {                                                  \
        CIPHER_ROWS(bits##_##mode),                                                                \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, aes_update),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, aes_final),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, aes_cipher),                                             \
        FUNCTION(PIPELINE_ENCRYPT_INIT, aes_pipeline_encrypt_init),                                \
        FUNCTION(PIPELINE_DECRYPT_INIT, aes_pipeline_decrypt_init),                                \
        FUNCTION(PIPELINE_UPDATE, aes_pipeline_update),                                            \
        FUNCTION(PIPELINE_FINAL, aes_pipeline_final),                                              \
        {0, NULL}};

AES_CIPHERS(AES_DEFINE)
