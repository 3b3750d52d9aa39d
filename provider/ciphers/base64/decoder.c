/*
 * See decoder.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/base64/decoder.h"

#include <inttypes.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include "provider/ciphers/base64/coder.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"

/* Text decoded at one time; small ones do not pay for a buffer of the largest size. */
enum { FIRST_PIECE = 16 << 10, LAST_PIECE = 16 << 20 };

struct buffer {
    unsigned char *data;
    size_t used, room;
};

static OSSL_FUNC_decoder_decode_fn decoder_decode;

/* Makes room for `more` bytes; the buffer at least doubles, so that it is copied rarely. */
static int grow(const struct provider *provider, struct buffer *b, size_t more)
{
    size_t room = b->used + more > 2 * b->room ? b->used + more : 2 * b->room;
    unsigned char *data;

    if (more <= b->room - b->used)
        return 1;
    data = OPENSSL_clear_realloc(b->data, b->room, room);
    if (!data) {
        error_raise(provider, ERROR_OUT_OF_MEMORY, "%zu bytes", room);
        return 0;
    }
    b->data = data;
    b->room = room;
    return 1;
}

/*
 * Fills `text`, or reads up to the BIO's end. A read that fails does not tell the end from an
 * error or from "not yet": BIO_eof() does. 0 if it is not the end: the error is raised.
 */
static int read_piece(const struct base64_decoding *decoding, OSSL_CORE_BIO *bio,
                      struct buffer *text)
{
    const struct provider *provider = decoding->provider;
    size_t read = 0;

    text->used = 0;
    while (text->used < text->room &&
           provider->bio_read(bio, text->data + text->used, text->room - text->used, &read))
        text->used += read;
    if (text->used == text->room || provider->bio_ctrl(bio, BIO_CTRL_EOF, 0, NULL) > 0)
        return 1;
    error_raise(provider, ERROR_READ_FAILED,
                "after %" PRIu64 " characters, where BIO_eof() does not say that the text ends",
                decoding->offset + text->used);
    return 0;
}

/* All of the BIO into `b`. */
static int decode_pieces(struct base64_decoding *decoding, OSSL_CORE_BIO *bio, struct buffer *text,
                         struct buffer *bytes)
{
    const struct provider *provider = decoding->provider;
    size_t produced;

    for (;;) {
        if (!read_piece(decoding, bio, text))
            return 0;
        if (text->used == 0)
            return base64_decoding_end(decoding);
        if (!grow(provider, bytes, (text->used / 4 + 1) * 3) ||
            !base64_decoding_update(decoding, bytes->data + bytes->used, &produced, text->data,
                                    text->used))
            return 0;
        bytes->used += produced;
        if (text->used < text->room)
            return base64_decoding_end(decoding);
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
        OSSL_PARAM_octet_string(OSSL_OBJECT_PARAM_DATA, bytes->data ? bytes->data : &none,
                                bytes->used),
        OSSL_PARAM_END,
    };

    return data_cb(object, data_cbarg);
}

static int decoder_decode(void *ctx, OSSL_CORE_BIO *in, int selection, OSSL_CALLBACK *data_cb,
                          void *data_cbarg, OSSL_PASSPHRASE_CALLBACK *cb, void *cbarg)
{
    const struct base64_coder *d = ctx;
    struct base64_decoding decoding;
    struct buffer text = {NULL, 0, 0}, bytes = {NULL, 0, 0};
    int ok;

    (void)selection;
    (void)cb;
    (void)cbarg;
    base64_decoding_start(&decoding, d->provider, &d->format);
    ok = grow(d->provider, &text, FIRST_PIECE) && decode_pieces(&decoding, in, &text, &bytes) &&
         deliver(&bytes, data_cb, data_cbarg);
    base64_decoding_clear(&decoding);
    OPENSSL_clear_free(text.data, text.room);
    if (!decoding.undefined) /* or the device might write to what others have there by then */
        OPENSSL_clear_free(bytes.data, bytes.room);
    return ok;
}

const OSSL_DISPATCH base64_decoder_functions[] = {
    FUNCTION(OSSL_FUNC_DECODER_NEWCTX, base64_coder_newctx),
    FUNCTION(OSSL_FUNC_DECODER_FREECTX, base64_coder_freectx),
    FUNCTION(OSSL_FUNC_DECODER_SET_CTX_PARAMS, base64_coder_set_ctx_params),
    FUNCTION(OSSL_FUNC_DECODER_SETTABLE_CTX_PARAMS, base64_coder_settable_ctx_params),
    FUNCTION(OSSL_FUNC_DECODER_DECODE, decoder_decode),
    {0, NULL},
};
