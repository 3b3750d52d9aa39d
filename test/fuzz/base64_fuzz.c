/*
 * Base64 by the cipher, the encoder and the decoder, in pieces of any length, with every
 * whole group by the (emulated) GPU or by the CPU. What may be decoded, and to what, is
 * said again here, slowly, from provider-gpuaes(7); what is encoded is libcrypto's, with
 * the lines broken here. Output has exactly the room that was told.
 *
 * After a refusal the calls go on: they may do anything but harm.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>

#include "test/fuzz/fuzz.h"

enum { LONGEST = 4096, ROOM = 2 * LONGEST + 64 };
enum { GPU, CPU, INSTANCES };
enum { OUTPUT_TOO_SMALL = 6 }; /* provider/common/errors.h */

static OSSL_LIB_CTX *libctx[INSTANCES];
static EVP_CIPHER *base64[INSTANCES];

struct format {
    size_t line_length;
    int skip;
};

struct bytes {
    unsigned char data[ROOM];
    size_t length;
};

static struct bytes expected, result;

static void compare(const char *what, int taken, int may_be)
{
    if (taken != may_be)
        found("%s: %s", what, taken ? "taken, and should not be" : "refused");
    if (taken && (result.length != expected.length ||
                  memcmp(result.data, expected.data, result.length) != 0))
        found("%s: another result, %zu/%zu bytes", what, result.length, expected.length);
}

/* ---- What is right -------------------------------------------------------------- */

static int value_of(unsigned char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
    return at != NULL ? (int)(at - alphabet) : -1;
}

/* Groups of four without anything between them. */
static int decode_groups(const struct bytes *text)
{
    size_t pads = 0;
    expected.length = 0;
    if (text->length % 4 != 0)
        return 0;
    while (pads < 2 && pads < text->length && text->data[text->length - 1 - pads] == '=')
        pads++;
    for (size_t i = 0; i < text->length; i += 4) {
        size_t padded = i + 4 == text->length ? pads : 0;
        unsigned bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = k < 4 - padded ? value_of(text->data[i + k]) : 0;
            if (value < 0)
                return 0;
            bits = bits << 6 | (unsigned)value;
        }
        if ((bits & ((1U << (8 * padded)) - 1)) != 0)
            return 0;
        for (size_t k = 0; k + padded < 3; k++)
            expected.data[expected.length++] = (unsigned char)(bits >> (16 - 8 * k));
    }
    return 1;
}

/* Lines of one length, the last one shorter or equal, with or without its end. */
static int take_out_lines(const unsigned char *data, size_t size, size_t line_length,
                          struct bytes *text)
{
    size_t at = 0, column;
    text->length = 0;
    while (at < size) {
        for (column = 0; at < size && data[at] != '\n' && data[at] != '\r'; column++)
            text->data[text->length++] = data[at++];
        if (column == 0 || column > line_length || (column < line_length && column % 4 != 0))
            return 0;
        if (at == size)
            return 1;
        if (data[at] == '\r' && (++at == size || data[at] != '\n'))
            return 0;
        if (++at < size && column < line_length)
            return 0;
    }
    return 1;
}

static int decode_rightly(const unsigned char *data, size_t size, const struct format *f)
{
    static struct bytes text;
    if (!f->skip && f->line_length != 0) {
        if (!take_out_lines(data, size, f->line_length, &text))
            return 0;
    } else {
        text.length = 0;
        for (size_t i = 0; i < size; i++)
            if (!f->skip || (data[i] != ' ' && (data[i] < '\t' || data[i] > '\r')))
                text.data[text.length++] = data[i];
    }
    return decode_groups(&text);
}

static void encode_rightly(const unsigned char *data, size_t size, const struct format *f)
{
    static unsigned char plain[ROOM];
    size_t length = (size_t)EVP_EncodeBlock(plain, data, (int)size);
    expected.length = 0;
    for (size_t at = 0; at < length; at++) {
        expected.data[expected.length++] = plain[at];
        if (f->line_length != 0 && ((at + 1) % f->line_length == 0 || at + 1 == length))
            expected.data[expected.length++] = '\n';
    }
}

/* ---- By the cipher ---------------------------------------------------------------- */

/* An update into memory of exactly `room` bytes. */
static int update(EVP_CIPHER_CTX *context, const unsigned char *data, size_t size, size_t room,
                  int keep)
{
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    unsigned char *out = malloc(room + 1);
    int written = 0;
    int ok = EVP_CIPHER_CTX_set_params(context, params) &&
             EVP_CipherUpdate(context, out, &written, data, (int)size);
    if (ok && keep && result.length + (size_t)written <= ROOM) {
        memcpy(result.data + result.length, out, (size_t)written);
        result.length += (size_t)written;
    }
    free(out);
    return ok;
}

/* The most that an update can write. */
static size_t most(size_t size, int encrypt)
{
    return encrypt ? (size + 2) / 3 * 4 * 2 + 8 : size / 4 * 3 + 3;
}

/* With room for less first, now and then: refused for that, it has consumed nothing. */
static int update_somehow(EVP_CIPHER_CTX *context, const unsigned char *data, size_t size,
                          int encrypt, int keep)
{
    if (data[0] % 16 == 7) {
        if (update(context, data, size, size / 2, keep))
            return 1;
        if (ERR_GET_REASON(ERR_peek_error()) != OUTPUT_TOO_SMALL)
            return 0;
        ERR_clear_error();
    }
    return update(context, data, size, most(size, encrypt), keep);
}

static int by_cipher(struct input in, EVP_CIPHER_CTX **context, int encrypt)
{
    int ok = 1;
    size_t step = 0;
    result.length = 0;
    while (in.left != 0) {
        if (step == 0 || in.left % 5 == 0)
            step = 1 + *in.data * (size_t)*in.data % 1500;
        size_t piece = step < in.left ? step : in.left;
        ok = update_somehow(*context, in.data, piece, encrypt, ok) && ok;
        in.data += piece;
        in.left -= piece;
        if (piece % 7 == 3) {
            EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
            if (!EVP_CIPHER_CTX_copy(copy, *context))
                found("a copy is refused");
            EVP_CIPHER_CTX_free(*context);
            *context = copy;
        }
    }
    return ok;
}

static void try_cipher(struct input in, int instance, int encrypt, struct format f, int may_be)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &f.line_length),
                           OSSL_PARAM_int("skip-white-space", &f.skip), OSSL_PARAM_END};
    unsigned char last[8];
    int written = 0;
    if (!EVP_CipherInit_ex2(context, base64[instance], NULL, NULL, encrypt, params))
        found("the cipher does not start");
    int ok = by_cipher(in, &context, encrypt);
    int ended = EVP_CipherFinal_ex(context, last, &written);
    if (ok && ended) {
        memcpy(result.data + result.length, last, (size_t)written);
        result.length += (size_t)written;
    }
    EVP_CIPHER_CTX_free(context);
    compare(encrypt ? "encoding" : "decoding", ok && ended, may_be);
}

/* ---- By the encoder and the decoder -------------------------------------------------- */

static const void *give(OSSL_ENCODER_INSTANCE *instance, void *object)
{
    (void)instance;
    return object;
}

static void leave(void *object)
{
    (void)object;
}

static void try_encoder(const unsigned char *data, size_t size, int instance, struct format f)
{
    OSSL_ENCODER *encoder =
        OSSL_ENCODER_fetch(libctx[instance], "OCTETS", "provider=gpuaes,output=base64");
    OSSL_ENCODER_CTX *context = OSSL_ENCODER_CTX_new();
    OSSL_PARAM object[] = {
        OSSL_PARAM_octet_string(OSSL_OBJECT_PARAM_DATA, (unsigned char *)(uintptr_t)data, size),
        OSSL_PARAM_END};
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &f.line_length), OSSL_PARAM_END};
    unsigned char *text = NULL;
    size_t length = 0;
    if (!OSSL_ENCODER_CTX_add_encoder(context, encoder) ||
        !OSSL_ENCODER_CTX_set_construct(context, give) ||
        !OSSL_ENCODER_CTX_set_construct_data(context, object) ||
        !OSSL_ENCODER_CTX_set_cleanup(context, leave) ||
        !OSSL_ENCODER_CTX_set_params(context, params))
        found("the encoder cannot be set up");
    int ok = OSSL_ENCODER_to_data(context, &text, &length);
    result.length = length;
    if (ok && length <= ROOM && length != 0)
        memcpy(result.data, text, length);
    OPENSSL_free(text);
    OSSL_ENCODER_CTX_set_construct_data(context, NULL); /* or it would be freed, too */
    OSSL_ENCODER_CTX_free(context);
    OSSL_ENCODER_free(encoder);
    compare("the encoder", ok, 1);
}

static int keep_octets(OSSL_DECODER_INSTANCE *instance, const OSSL_PARAM *params, void *argument)
{
    const OSSL_PARAM *data = OSSL_PARAM_locate_const(params, OSSL_OBJECT_PARAM_DATA);
    void *to = result.data;
    (void)instance;
    (void)argument;
    return data != NULL && OSSL_PARAM_get_octet_string(data, &to, ROOM, &result.length);
}

static void try_decoder(const unsigned char *data, size_t size, int instance, struct format f,
                        int may_be)
{
    OSSL_DECODER *decoder =
        OSSL_DECODER_fetch(libctx[instance], "OCTETS", "provider=gpuaes,input=base64");
    OSSL_DECODER_CTX *context = OSSL_DECODER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &f.line_length),
                           OSSL_PARAM_int("skip-white-space", &f.skip), OSSL_PARAM_END};
    result.length = 0;
    if (!OSSL_DECODER_CTX_add_decoder(context, decoder) ||
        !OSSL_DECODER_CTX_set_construct(context, keep_octets) ||
        !OSSL_DECODER_CTX_set_input_type(context, "BASE64") ||
        !OSSL_DECODER_CTX_set_params(context, params))
        found("the decoder cannot be set up");
    compare("the decoder", OSSL_DECODER_from_data(context, &data, &size), may_be);
    OSSL_DECODER_CTX_free(context);
    OSSL_DECODER_free(decoder);
}

/* ---- The target ------------------------------------------------------------------------ */

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    static const char *const min_bytes[] = {[GPU] = "0", [CPU] = "1G"};
    (void)arguments;
    (void)argument;
    for (int i = 0; i < INSTANCES; i++) {
        (void)setenv("GPUAES_MIN_BYTES", min_bytes[i], 1);
        libctx[i] = load_ours();
        base64[i] = EVP_CIPHER_fetch(libctx[i], "BASE64", "provider=gpuaes");
    }
    start_device(libctx[GPU]);
    return 0;
}

/* One byte says what is done, and the rest is the data. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t lengths[] = {0, 64, 76};
    struct input in = {data, size};
    unsigned how = take(&in);
    struct format f = {.line_length = lengths[how % 3], .skip = how / 3 % 4 == 0};
    int encrypt = how / 12 % 4 == 0, instance = how / 48 == 0 ? GPU : CPU;
    int as_object = how / 48 % 5 == 4 || (how >= 44 && how < 48);
    if (in.left > LONGEST)
        in.left = LONGEST;
    if (encrypt) {
        encode_rightly(in.data, in.left, &f);
        if (as_object)
            try_encoder(in.data, in.left, instance, f);
        else
            try_cipher(in, instance, 1, f, 1);
    } else {
        int may_be = decode_rightly(in.data, in.left, &f);
        if (as_object)
            try_decoder(in.data, in.left, instance, f, may_be);
        else
            try_cipher(in, instance, 0, f, may_be);
    }
    ERR_clear_error();
    return 0;
}
