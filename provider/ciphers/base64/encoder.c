/*
 * See encoder.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/base64/encoder.h"

#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include "provider/ciphers/base64/coder.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"

/* Bytes encoded at one time: large for the GPU's sake, a multiple of all lines. */
enum { PIECE = (48 / 3 * 57) << 14 };

static OSSL_FUNC_encoder_encode_fn encoder_encode;

static int write_all(const struct provider *provider, OSSL_CORE_BIO *bio, const unsigned char *text,
                     size_t len)
{
    while (len) {
        size_t written = 0;

        if (!provider->bio_write(bio, text, len, &written) || written == 0)
            return 0; /* the BIO has said why */
        text += written;
        len -= written;
    }
    return 1;
}

/* All of the data, a piece at a time through `text`. */
static int encode_pieces(struct base64_encoding *encoding, OSSL_CORE_BIO *bio, unsigned char *text,
                         const unsigned char *data, size_t len)
{
    struct provider *provider = encoding->provider;

    while (len) {
        size_t piece = len < PIECE ? len : PIECE;
        size_t characters = base64_encoding_size(encoding, piece);

        if (!base64_encoding_update(encoding, text, data, piece) ||
            !write_all(provider, bio, text, characters))
            return 0;
        data += piece;
        len -= piece;
    }
    return write_all(provider, bio, text, base64_encoding_end(encoding, text));
}

static int encoder_encode(void *ctx, OSSL_CORE_BIO *out, const void *raw,
                          const OSSL_PARAM abstract[], int selection, OSSL_PASSPHRASE_CALLBACK *cb,
                          void *cbarg)
{
    const struct base64_coder *e = ctx;
    const OSSL_PARAM *object = abstract ? abstract : raw, *data = NULL;
    struct base64_encoding encoding;
    const void *bytes = NULL;
    size_t len = 0, room;
    unsigned char *text;
    int ok;

    (void)selection;
    (void)cb;
    (void)cbarg;
    if (object)
        data = OSSL_PARAM_locate_const(object, OSSL_OBJECT_PARAM_DATA);
    if (!data || !OSSL_PARAM_get_octet_string_ptr(data, &bytes, &len)) {
        error_raise(e->provider, ERROR_BAD_PARAMETER,
                    "the object is no array of OSSL_PARAM with an octet string \"%s\"",
                    OSSL_OBJECT_PARAM_DATA);
        return 0;
    }
    base64_encoding_start(&encoding, e->provider, &e->format);
    room = base64_encoding_size(&encoding, len < PIECE ? len : PIECE) + BASE64_ENCODING_END;
    text = OPENSSL_malloc(room);
    if (!text) {
        error_raise(e->provider, ERROR_OUT_OF_MEMORY, "%zu characters", room);
        return 0;
    }
    ok = encode_pieces(&encoding, out, text, bytes, len);
    base64_encoding_clear(&encoding);
    if (!encoding.undefined) /* or the device might write to what others have there by then */
        OPENSSL_clear_free(text, room);
    return ok;
}

const OSSL_DISPATCH base64_encoder_functions[] = {
    FUNCTION(OSSL_FUNC_ENCODER_NEWCTX, base64_coder_newctx),
    FUNCTION(OSSL_FUNC_ENCODER_FREECTX, base64_coder_freectx),
    FUNCTION(OSSL_FUNC_ENCODER_SET_CTX_PARAMS, base64_coder_set_ctx_params),
    FUNCTION(OSSL_FUNC_ENCODER_SETTABLE_CTX_PARAMS, base64_coder_settable_ctx_params),
    FUNCTION(OSSL_FUNC_ENCODER_ENCODE, encoder_encode),
    {0, NULL},
};
