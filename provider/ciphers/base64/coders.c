/*
 * See coders.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/base64/coders.h"

#include <inttypes.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include "provider/ciphers/base64/codec.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"

struct coder {
    struct provider *provider;
    struct base64_format format;
};

/* OpenSSL has the same types for decoders. */
static OSSL_FUNC_encoder_newctx_fn coder_newctx;
static OSSL_FUNC_encoder_freectx_fn coder_freectx;
static OSSL_FUNC_encoder_set_ctx_params_fn coder_set_ctx_params;
static OSSL_FUNC_encoder_settable_ctx_params_fn coder_settable_ctx_params;
static OSSL_FUNC_encoder_encode_fn coder_encode;
static OSSL_FUNC_decoder_decode_fn coder_decode;

/* ---- Contexts ------------------------------------------------------------------------ */

static void *coder_newctx(void *provider)
{
    struct coder *c = OPENSSL_zalloc(sizeof *c);
    if (c != NULL)
        c->provider = provider;
    else
        error_raise(provider, ERROR_OUT_OF_MEMORY, "an encoder or decoder of %zu bytes", sizeof *c);
    return c;
}

static void coder_freectx(void *context)
{
    OPENSSL_free(context);
}

static int coder_set_ctx_params(void *context, const OSSL_PARAM params[])
{
    struct coder *c = context;
    return base64_format_set(&c->format, c->provider, params);
}

static const OSSL_PARAM *coder_settable_ctx_params(void *provider)
{
    static const OSSL_PARAM settable[] = {BASE64_FORMAT_SETTABLE, OSSL_PARAM_END};
    (void)provider;
    return settable;
}

/* ---- Buffers -------------------------------------------------------------------------- */

struct buffer {
    unsigned char *data;
    size_t used, room;
};

/* Makes room for `more` bytes; the buffer at least doubles, so that it is copied rarely. */
static int grow(const struct provider *provider, struct buffer *b, size_t more)
{
    size_t room = b->used + more > 2 * b->room ? b->used + more : 2 * b->room;
    if (more <= b->room - b->used)
        return 1;
    unsigned char *data = OPENSSL_clear_realloc(b->data, b->room, room);
    if (data == NULL) {
        error_raise(provider, ERROR_OUT_OF_MEMORY, "%zu bytes", room);
        return 0;
    }
    b->data = data;
    b->room = room;
    return 1;
}

/* Leaves undefined output where it is, or the device might write to what others have there. */
static void free_output(const struct base64_codec *codec, struct buffer *b)
{
    if (!codec->undefined)
        OPENSSL_clear_free(b->data, b->room);
}

/* ---- Encoding -------------------------------------------------------------------------- */

static int write_all(const struct provider *provider, OSSL_CORE_BIO *bio, const unsigned char *text,
                     size_t len)
{
    while (len != 0) {
        size_t written = 0;
        if (!provider->bio_write(bio, text, len, &written) || written == 0)
            return 0; /* the BIO has said why */
        text += written;
        len -= written;
    }
    return 1;
}

static int encode(struct base64_codec *codec, OSSL_CORE_BIO *bio, struct buffer *text,
                  const unsigned char *data, size_t len)
{
    size_t characters = base64_encoded_size(codec, len);
    if (characters > SIZE_MAX - BASE64_END) { /* no object is as long */
        error_raise(codec->provider, ERROR_OUT_OF_MEMORY, "%zu bytes", len);
        return 0;
    }
    if (!grow(codec->provider, text, characters + BASE64_END) ||
        !base64_encode_update(codec, text->data, data, len))
        return 0;
    characters += base64_encode_end(codec, text->data + characters);
    return write_all(codec->provider, bio, text->data, characters);
}

static int coder_encode(void *context, OSSL_CORE_BIO *out, const void *raw,
                        const OSSL_PARAM abstract[], int selection, OSSL_PASSPHRASE_CALLBACK *cb,
                        void *cbarg)
{
    const struct coder *c = context;
    const OSSL_PARAM *object = abstract != NULL ? abstract : raw, *data = NULL;
    struct base64_codec codec;
    struct buffer text = {NULL, 0, 0};
    const void *bytes = NULL;
    size_t len = 0;
    (void)selection;
    (void)cb;
    (void)cbarg;
    if (object != NULL)
        data = OSSL_PARAM_locate_const(object, OSSL_OBJECT_PARAM_DATA);
    if (data == NULL || !OSSL_PARAM_get_octet_string_ptr(data, &bytes, &len)) {
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    "the object is no array of OSSL_PARAM with an octet string \"%s\"",
                    OSSL_OBJECT_PARAM_DATA);
        return 0;
    }
    base64_start(&codec, c->provider, &c->format);
    int ok = encode(&codec, out, &text, bytes, len);
    base64_clear(&codec);
    free_output(&codec, &text);
    return ok;
}

/* ---- Decoding --------------------------------------------------------------------------- */

/* Text decoded at one time; small ones do not pay for a buffer of the largest size. */
enum { FIRST_PIECE = 16 << 10, LAST_PIECE = 16 << 20 };

/*
 * Fills `text`, or reads up to the BIO's end. A read that fails does not tell the end from an
 * error or from "not yet": BIO_eof() does. 0 if it is not the end: the error is raised.
 */
static int read_piece(const struct base64_codec *codec, OSSL_CORE_BIO *bio, struct buffer *text)
{
    const struct provider *provider = codec->provider;
    size_t read = 0;
    text->used = 0;
    while (text->used < text->room &&
           provider->bio_read(bio, text->data + text->used, text->room - text->used, &read))
        text->used += read;
    if (text->used == text->room || provider->bio_ctrl(bio, BIO_CTRL_EOF, 0, NULL) > 0)
        return 1;
    error_raise(provider, ERROR_READ_FAILED,
                "after %" PRIu64 " characters, where BIO_eof() does not say that the text ends",
                codec->offset + text->used);
    return 0;
}

/* All of the BIO into `bytes`. */
static int decode_pieces(struct base64_codec *codec, OSSL_CORE_BIO *bio, struct buffer *text,
                         struct buffer *bytes)
{
    const struct provider *provider = codec->provider;
    size_t produced;
    if (!grow(provider, text, FIRST_PIECE))
        return 0;
    for (;;) {
        if (!read_piece(codec, bio, text))
            return 0;
        if (text->used == 0)
            return base64_decode_end(codec);
        if (!grow(provider, bytes, (text->used / 4 + 1) * 3) ||
            !base64_decode_update(codec, bytes->data + bytes->used, &produced, text->data,
                                  text->used))
            return 0;
        bytes->used += produced;
        if (text->used < text->room)
            return base64_decode_end(codec);
        text->used = 0; /* so that nothing is copied when it grows */
        if (text->room < LAST_PIECE && !grow(provider, text, 4 * text->room))
            return 0;
    }
}

static int deliver(struct buffer *bytes, OSSL_CALLBACK *data_cb, void *data_cbarg)
{
    int type = OSSL_OBJECT_UNKNOWN;
    static char octets[] = "OCTETS";
    unsigned char none = 0;
    OSSL_PARAM object[] = {
        OSSL_PARAM_int(OSSL_OBJECT_PARAM_TYPE, &type),
        OSSL_PARAM_utf8_string(OSSL_OBJECT_PARAM_DATA_TYPE, octets, sizeof octets - 1),
        OSSL_PARAM_octet_string(OSSL_OBJECT_PARAM_DATA, bytes->data != NULL ? bytes->data : &none,
                                bytes->used),
        OSSL_PARAM_END,
    };
    return data_cb(object, data_cbarg);
}

static int coder_decode(void *context, OSSL_CORE_BIO *in, int selection, OSSL_CALLBACK *data_cb,
                        void *data_cbarg, OSSL_PASSPHRASE_CALLBACK *cb, void *cbarg)
{
    const struct coder *c = context;
    struct base64_codec codec;
    struct buffer text = {NULL, 0, 0}, bytes = {NULL, 0, 0};
    (void)selection;
    (void)cb;
    (void)cbarg;
    base64_start(&codec, c->provider, &c->format);
    int ok = decode_pieces(&codec, in, &text, &bytes) && deliver(&bytes, data_cb, data_cbarg);
    base64_clear(&codec);
    OPENSSL_clear_free(text.data, text.room);
    free_output(&codec, &bytes);
    return ok;
}

#define CODER_FUNCTIONS(KIND)                                                                      \
    FUNCTION(OSSL_FUNC_##KIND##_NEWCTX, coder_newctx),                                             \
        FUNCTION(OSSL_FUNC_##KIND##_FREECTX, coder_freectx),                                       \
        FUNCTION(OSSL_FUNC_##KIND##_SET_CTX_PARAMS, coder_set_ctx_params),                         \
        FUNCTION(OSSL_FUNC_##KIND##_SETTABLE_CTX_PARAMS, coder_settable_ctx_params)

const OSSL_DISPATCH base64_encoder_functions[] = {
    CODER_FUNCTIONS(ENCODER), FUNCTION(OSSL_FUNC_ENCODER_ENCODE, coder_encode), {0, NULL}};

const OSSL_DISPATCH base64_decoder_functions[] = {
    CODER_FUNCTIONS(DECODER), FUNCTION(OSSL_FUNC_DECODER_DECODE, coder_decode), {0, NULL}};
