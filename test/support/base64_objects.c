/*
 * Base64 by libcrypto's encoders and decoders.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/base64_objects.h"

#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>

static const void *give_object(OSSL_ENCODER_INSTANCE *instance, void *object)
{
    (void)instance;
    return object;
}

static void leave_object(void *object)
{
    (void)object;
}

static int take_object(OSSL_DECODER_INSTANCE *instance, const OSSL_PARAM *params, void *to)
{
    struct bytes *out = to;
    const OSSL_PARAM *data = OSSL_PARAM_locate_const(params, OSSL_OBJECT_PARAM_DATA);
    const void *p;
    (void)instance;
    if (data == NULL || !OSSL_PARAM_get_octet_string_ptr(data, &p, &out->length))
        return 0;
    out->data = OPENSSL_memdup(p, out->length);
    return 1;
}

int base64_encode_object(OSSL_LIB_CTX *libctx, const struct bytes *plain, struct bytes *to,
                         struct format format)
{
    OSSL_ENCODER *encoder = OSSL_ENCODER_fetch(libctx, "OCTETS", "provider=gpuaes,output=base64");
    OSSL_ENCODER_CTX *context = OSSL_ENCODER_CTX_new();
    OSSL_PARAM object[] = {
        OSSL_PARAM_octet_string(OSSL_OBJECT_PARAM_DATA, plain->data, plain->length),
        OSSL_PARAM_END};
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &format.line_length), OSSL_PARAM_END};
    int ok = encoder != NULL && OSSL_ENCODER_CTX_add_encoder(context, encoder) &&
             OSSL_ENCODER_CTX_set_construct(context, give_object) &&
             OSSL_ENCODER_CTX_set_construct_data(context, object) &&
             OSSL_ENCODER_CTX_set_cleanup(context, leave_object) &&
             OSSL_ENCODER_CTX_set_params(context, params) &&
             OSSL_ENCODER_to_data(context, &to->data, &to->length);
    OSSL_ENCODER_CTX_set_construct_data(context, NULL); /* or it would be freed too */
    OSSL_ENCODER_CTX_free(context);
    OSSL_ENCODER_free(encoder);
    return ok;
}

int base64_decode_object(OSSL_LIB_CTX *libctx, BIO *text, struct bytes *to, struct format format)
{
    OSSL_DECODER *decoder = OSSL_DECODER_fetch(libctx, "OCTETS", "provider=gpuaes,input=base64");
    OSSL_DECODER_CTX *context = OSSL_DECODER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &format.line_length),
                           OSSL_PARAM_int("skip-white-space", &format.skip), OSSL_PARAM_END};
    int ok = decoder != NULL && OSSL_DECODER_CTX_add_decoder(context, decoder) &&
             OSSL_DECODER_CTX_set_construct(context, take_object) &&
             OSSL_DECODER_CTX_set_construct_data(context, to) &&
             OSSL_DECODER_CTX_set_input_type(context, "BASE64") &&
             OSSL_DECODER_CTX_set_params(context, params) && OSSL_DECODER_from_bio(context, text);
    OSSL_DECODER_CTX_free(context);
    OSSL_DECODER_free(decoder);
    return ok;
}
