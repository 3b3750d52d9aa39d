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
#include "test/fuzz/fuzz.h"
#include "test/support/base64_objects.h"

enum { LONGEST = 4096, ROOM = 2 * LONGEST + 64 };
enum { GPU, CPU, INSTANCES };
enum { OUTPUT_TOO_SMALL = 6 }; /* provider/common/errors.h */

static OSSL_LIB_CTX *libctx[INSTANCES];
static EVP_CIPHER *base64[INSTANCES];

struct text {
    unsigned char data[ROOM];
    size_t length;
};

static struct text expected, result;

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
static int decode_groups(const struct text *text)
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
                          struct text *text)
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
    static struct text text;
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

static void try_object(struct input in, int instance, int encrypt, struct format f, int may_be)
{
    struct bytes data = {(unsigned char *)(uintptr_t)in.data, in.left}, got = {NULL, 0};
    BIO *bio = BIO_new_mem_buf(in.data, (int)in.left);
    int ok = encrypt ? base64_encode_object(libctx[instance], &data, &got, f)
                     : base64_decode_object(libctx[instance], bio, &got, f);
    result.length = got.length;
    if (ok && got.length <= ROOM && got.length != 0)
        memcpy(result.data, got.data, got.length);
    OPENSSL_free(got.data);
    BIO_free(bio);
    compare(encrypt ? "the encoder" : "the decoder", ok, may_be);
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
    unsigned how = take_byte(&in);
    struct format f = {.line_length = lengths[how % 3], .skip = how / 3 % 4 == 0};
    int encrypt = how / 12 % 4 == 0, instance = how / 48 == 0 ? GPU : CPU;
    int as_object = how / 48 % 5 == 4 || (how >= 44 && how < 48);
    if (in.left > LONGEST)
        in.left = LONGEST;
    int may_be = 1;
    if (encrypt)
        encode_rightly(in.data, in.left, &f);
    else
        may_be = decode_rightly(in.data, in.left, &f);
    (as_object ? try_object : try_cipher)(in, instance, encrypt, f, may_be);
    ERR_clear_error();
    return 0;
}
