/*
 * See cipher.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/base64/base64_cipher.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/minmax.h"
#include "provider/ciphers/base64/codec.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"

/* Makes EVP promise some room beyond the input's length: enough for 93 bytes and for the end. */
enum { BLOCK_SIZE = 32 };

#define PARAM_OUTSIZE "outsize"

struct base64_cipher {
    struct base64_format format; /* of the next text; the codec has that of this one */
    size_t outsize;              /* of the next update, where the application has told */
    int outsize_set;
    int encrypt;
    struct base64_codec codec;
};

static OSSL_FUNC_cipher_newctx_fn cipher_newctx;
static OSSL_FUNC_cipher_freectx_fn cipher_freectx;
static OSSL_FUNC_cipher_dupctx_fn cipher_dupctx;
static OSSL_FUNC_cipher_encrypt_init_fn cipher_encrypt_init;
static OSSL_FUNC_cipher_decrypt_init_fn cipher_decrypt_init;
static OSSL_FUNC_cipher_update_fn cipher_update;
static OSSL_FUNC_cipher_final_fn cipher_final;
static OSSL_FUNC_cipher_get_params_fn cipher_get_params;
static OSSL_FUNC_cipher_gettable_params_fn cipher_gettable_params;
static OSSL_FUNC_cipher_get_ctx_params_fn cipher_get_ctx_params;
static OSSL_FUNC_cipher_gettable_ctx_params_fn cipher_gettable_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn cipher_set_ctx_params;
static OSSL_FUNC_cipher_settable_ctx_params_fn cipher_settable_ctx_params;

/* ---- Contexts ------------------------------------------------------------ */

static void *cipher_newctx(void *provctx)
{
    struct base64_cipher *c = OPENSSL_zalloc(sizeof *c);
    if (c == NULL)
        error_raise(provctx, ERROR_OUT_OF_MEMORY, "a context of %zu bytes", sizeof *c);
    else
        base64_start(&c->codec, provctx, &c->format);
    return c;
}

static void cipher_freectx(void *ctx)
{
    OPENSSL_clear_free(ctx, sizeof(struct base64_cipher));
}

static void *cipher_dupctx(void *ctx)
{
    struct base64_cipher *c = ctx, *copy = OPENSSL_memdup(c, sizeof *c);
    if (copy == NULL)
        error_raise(c->codec.provider, ERROR_OUT_OF_MEMORY, "a context of %zu bytes", sizeof *c);
    return copy;
}

static void begin_text(struct base64_cipher *c)
{
    base64_clear(&c->codec);
    base64_start(&c->codec, c->codec.provider, &c->format);
}

/* EVP takes the lengths of key and IV from us: they are 0. */
static int init(struct base64_cipher *c, int encrypt, const OSSL_PARAM params[])
{
    begin_text(c);
    c->encrypt = encrypt;
    return cipher_set_ctx_params(c, params);
}

static int cipher_encrypt_init(void *ctx, const unsigned char *key, size_t keylen,
                               const unsigned char *iv, size_t ivlen, const OSSL_PARAM params[])
{
    (void)key;
    (void)keylen;
    (void)iv;
    (void)ivlen;
    return init(ctx, 1, params);
}

static int cipher_decrypt_init(void *ctx, const unsigned char *key, size_t keylen,
                               const unsigned char *iv, size_t ivlen, const OSSL_PARAM params[])
{
    (void)key;
    (void)keylen;
    (void)iv;
    (void)ivlen;
    return init(ctx, 0, params);
}

/* ---- Work ---------------------------------------------------------------- */

static int fits(const struct base64_cipher *c, size_t needed, size_t available)
{
    if (needed <= available)
        return 1;
    error_raise(c->codec.provider, ERROR_OUTPUT_TOO_SMALL,
                "%zu bytes needed, %zu available: tell the room there really is by the parameter "
                "\"" PARAM_OUTSIZE "\" before each update; with openssl enc use -bufsize 93",
                needed, available);
    return 0;
}

static int is_allowed(const struct base64_cipher *c, const unsigned char *out, size_t outl,
                      const unsigned char *in, size_t inl)
{
    /* EVP gives lengths back as int, and would report a longer output as failed after the fact. */
    if (outl > INT_MAX)
        error_raise(c->codec.provider, ERROR_BAD_PARAMETER,
                    "an update may write %d bytes at most, this one would write %zu", INT_MAX,
                    outl);
    else if ((uintptr_t)out < (uintptr_t)in + inl && (uintptr_t)in < (uintptr_t)out + outl)
        error_raise(c->codec.provider, ERROR_BAD_PARAMETER, "input and output overlap");
    else
        return 1;
    return 0;
}

/*
 * EVP_EncryptUpdate(3) asks its callers for a byte less than EVP then says there is. What it
 * says is its own sum, and so must not be taken for what the buffer has.
 */
static int cipher_update(void *ctx, unsigned char *out, size_t *outl, size_t outsize,
                         const unsigned char *in, size_t inl)
{
    struct base64_cipher *c = ctx;
    size_t available = min_u64(outsize, inl + BLOCK_SIZE - 1), needed;
    if (c->outsize_set)
        available = c->outsize;
    c->outsize_set = 0;
    *outl = 0;
    if (inl == 0)
        return 1;
    needed = c->encrypt ? base64_encoded_size(&c->codec, inl)
                        : base64_decoded_size(&c->codec, in, inl, available);
    if (!fits(c, needed, available) || !is_allowed(c, out, needed, in, inl))
        return 0;
    if (!c->encrypt)
        return base64_decode_update(&c->codec, out, outl, in, inl);
    *outl = needed;
    return base64_encode_update(&c->codec, out, in, inl);
}

static int cipher_final(void *ctx, unsigned char *out, size_t *outl, size_t outsize)
{
    struct base64_cipher *c = ctx;
    *outl = 0;
    if (c->encrypt ? !fits(c, BASE64_END, outsize) : !base64_decode_end(&c->codec))
        return 0;
    if (c->encrypt)
        *outl = base64_encode_end(&c->codec, out);
    begin_text(c); /* what comes now is another */
    return 1;
}

/* ---- Parameters ---------------------------------------------------------- */

static const OSSL_PARAM gettable[] = {
    OSSL_PARAM_uint(OSSL_CIPHER_PARAM_MODE, NULL),
    OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_BLOCK_SIZE, NULL),
    OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
    OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
    OSSL_PARAM_END,
};

static const OSSL_PARAM ctx_gettable[] = {
    OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
    OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
    BASE64_FORMAT_SETTABLE,
    OSSL_PARAM_END,
};

static const OSSL_PARAM ctx_settable[] = {
    OSSL_PARAM_size_t(PARAM_OUTSIZE, NULL),
    BASE64_FORMAT_SETTABLE,
    OSSL_PARAM_END,
};

static int answer_size(OSSL_PARAM params[], const char *key, size_t value)
{
    OSSL_PARAM *p = OSSL_PARAM_locate(params, key);
    return p == NULL || OSSL_PARAM_set_size_t(p, value);
}

static int cipher_get_params(OSSL_PARAM params[])
{
    OSSL_PARAM *mode = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_MODE);
    return (mode == NULL || OSSL_PARAM_set_uint(mode, EVP_CIPH_STREAM_CIPHER)) &&
           answer_size(params, OSSL_CIPHER_PARAM_BLOCK_SIZE, BLOCK_SIZE) &&
           answer_size(params, OSSL_CIPHER_PARAM_KEYLEN, 0) &&
           answer_size(params, OSSL_CIPHER_PARAM_IVLEN, 0);
}

static int cipher_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct base64_cipher *c = ctx;
    OSSL_PARAM *skip = OSSL_PARAM_locate(params, BASE64_PARAM_SKIP_WHITE_SPACE);
    return (skip == NULL || OSSL_PARAM_set_int(skip, c->format.skip_white_space)) &&
           answer_size(params, BASE64_PARAM_LINE_LENGTH, c->format.line_length) &&
           answer_size(params, OSSL_CIPHER_PARAM_KEYLEN, 0) &&
           answer_size(params, OSSL_CIPHER_PARAM_IVLEN, 0);
}

static int cipher_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct base64_cipher *c = ctx;
    if (!base64_format_set(&c->format, c->codec.provider, params))
        return 0;
    if (c->codec.offset == 0)
        c->codec.format = c->format;
    const OSSL_PARAM *outsize = OSSL_PARAM_locate_const(params, PARAM_OUTSIZE);
    if (outsize == NULL)
        return 1;
    c->outsize_set = OSSL_PARAM_get_size_t(outsize, &c->outsize);
    if (!c->outsize_set)
        error_raise(c->codec.provider, ERROR_BAD_PARAMETER, PARAM_OUTSIZE " must be a size_t");
    return c->outsize_set;
}

static const OSSL_PARAM *cipher_gettable_params(void *provctx)
{
    (void)provctx;
    return gettable;
}

static const OSSL_PARAM *cipher_gettable_ctx_params(void *ctx, void *provctx)
{
    (void)ctx;
    (void)provctx;
    return ctx_gettable;
}

static const OSSL_PARAM *cipher_settable_ctx_params(void *ctx, void *provctx)
{
    (void)ctx;
    (void)provctx;
    return ctx_settable;
}

const OSSL_DISPATCH base64_cipher_functions[] = {
    FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, cipher_newctx),
    FUNCTION(OSSL_FUNC_CIPHER_FREECTX, cipher_freectx),
    FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, cipher_dupctx),
    FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, cipher_encrypt_init),
    FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, cipher_decrypt_init),
    FUNCTION(OSSL_FUNC_CIPHER_UPDATE, cipher_update),
    FUNCTION(OSSL_FUNC_CIPHER_FINAL, cipher_final),
    FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, cipher_get_params),
    FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, cipher_gettable_params),
    FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, cipher_get_ctx_params),
    FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, cipher_gettable_ctx_params),
    FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, cipher_set_ctx_params),
    FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, cipher_settable_ctx_params),
    {0, NULL},
};
