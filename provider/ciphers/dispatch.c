/*
 * What EVP calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/dispatch.h"

#include "provider/ciphers/blocks/blocks.h"
#include "provider/ciphers/aes/parameters.h"
#include "provider/ciphers/blocks/blocks_update.h"
#include "provider/common/cipher_table.h"
#include "provider/keys/skey.h"

CIPHER_DECLARE;

static void freectx(void *context)
{
    if (context != NULL)
        aes_message_free(context);
}

static void *dupctx(void *context)
{
    return aes_message_copy(context);
}

static int encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    return aes_message_init(context, 1, key, key_bytes, iv, iv_bytes, params);
}

static int decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    return aes_message_init(context, 0, key, key_bytes, iv, iv_bytes, params);
}

SKEY_INITS

static int get_ctx_params(void *context, OSSL_PARAM params[])
{
    return aes_get_params(context, params);
}

static int set_ctx_params(void *context, const OSSL_PARAM params[])
{
    return aes_set_params(context, params);
}

/* ---- The tables ------------------------------------------------------------------------ */

#define AES_DEFINE(bits, MODE, mode, names)                                                        \
    CIPHER_FUNCTIONS(bits##_##mode, aes_ciphers[AES_##bits##_##MODE], aes_message_new)             \
    const OSSL_DISPATCH aes_##bits##_##mode[] = {                                                  \
        CIPHER_ROWS(bits##_##mode),                                                                \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, aes_update),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, aes_final),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, aes_cipher),                                             \
        {0, NULL}};

AES_CIPHERS(AES_DEFINE)
