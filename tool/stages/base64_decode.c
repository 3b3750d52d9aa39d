/*
 * The stages that decode pieces of Base64.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/stages/base64_decode.h"

#include <openssl/err.h>
#include <openssl/params.h>
#include <pthread.h>
#include <string.h>

#include "tool/common/message.h"

/* ---- Characters ----------------------------------------------------------------------- */

enum { NO_CHARACTER = 64, PADDING = 65, SPACE = 66 };

/* The value of each character, or one of the above. */
static unsigned char values[256];

static void fill_values(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(values, NO_CHARACTER, sizeof values);
    for (unsigned char i = 0; i < 64; i++)
        values[(unsigned char)alphabet[i]] = i;
    values['='] = PADDING;
    for (const char *p = " \t\n\v\f\r"; *p != '\0'; p++)
        values[(unsigned char)*p] = SPACE;
}

static const unsigned char *value_of(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_values);
    return values;
}

/* ---- What is between ------------------------------------------------------------------ */

static size_t strip_line_feeds(const unsigned char *in, size_t bytes, unsigned char *out)
{
    const unsigned char *end = in + bytes;
    unsigned char *to = out;
    while (in < end) {
        const unsigned char *line_end = memchr(in, '\n', (size_t)(end - in));
        size_t n = (size_t)((line_end != NULL ? line_end : end) - in);
        memcpy(to, in, n);
        to += n;
        in = line_end != NULL ? line_end + 1 : end;
    }
    return (size_t)(to - out);
}

static size_t strip(enum base64_between between, const unsigned char *in, size_t bytes,
                    unsigned char *out)
{
    const unsigned char *value = value_of();
    size_t kept = 0;
    int only_line_feeds = between == BASE64_LINE_FEEDS ||
                          (between == BASE64_WHITE_SPACE && memchr(in, '\r', bytes) == NULL &&
                           memchr(in, ' ', bytes) == NULL && memchr(in, '\t', bytes) == NULL);
    if (only_line_feeds)
        return strip_line_feeds(in, bytes, out);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char v = value[in[i]];
        out[kept] = in[i];
        kept += v != SPACE && (between == BASE64_WHITE_SPACE || v != NO_CHARACTER);
    }
    return kept;
}

/* ---- Groups --------------------------------------------------------------------------- */

/*
 * Decodes a group of `n` characters, up to four, and returns whether it is right. What is in
 * front of the first wrong character is decoded in any case, as coreutils does it. As in
 * coreutils 9.5 and newer, padding at the end may be missing, and the bits that it leaves unused
 * must be 0; not so for what openssl enc reads.
 */
static int decode_group(enum base64_between between, const unsigned char *in, size_t n,
                        unsigned char *out, size_t *written)
{
    const int is_openssl = between == BASE64_WHITE_SPACE;
    unsigned char v[4] = {NO_CHARACTER, NO_CHARACTER, NO_CHARACTER, NO_CHARACTER};
    *written = 0;
    for (size_t i = 0; i < n; i++)
        v[i] = value_of()[in[i]];
    if (v[0] > 63 || v[1] > 63)
        return 0;
    out[(*written)++] = (unsigned char)(v[0] << 2 | v[1] >> 4);
    if (v[2] > 63)
        return ((v[2] == PADDING && v[3] == PADDING) || (n == 2 && !is_openssl)) &&
               ((v[1] & 15) == 0 || is_openssl);
    out[(*written)++] = (unsigned char)(v[1] << 4 | v[2] >> 2);
    if (v[3] > 63)
        return (v[3] == PADDING || (n == 3 && !is_openssl)) && ((v[2] & 3) == 0 || is_openssl);
    out[(*written)++] = (unsigned char)(v[2] << 6 | v[3]);
    return 1;
}

/* The most that are whole and without padding, from the beginning on; how many characters. */
static size_t decode_plain(const unsigned char *in, size_t n, unsigned char *out)
{
    const unsigned char *value = value_of();
    size_t i = 0;
    for (; i + 4 <= n; i += 4, out += 3) {
        unsigned a = value[in[i]], b = value[in[i + 1]], c = value[in[i + 2]], d = value[in[i + 3]];
        if ((a | b | c | d) > 63)
            break;
        unsigned bits = a << 18 | b << 12 | c << 6 | d;
        out[0] = (unsigned char)(bits >> 16);
        out[1] = (unsigned char)(bits >> 8);
        out[2] = (unsigned char)bits;
    }
    return i;
}

/* Decodes all; returns whether it is right. */
static int decode_on_cpu(const struct base64_decode *job, const unsigned char *in, size_t n,
                         unsigned char *out, size_t *written)
{
    *written = 0;
    for (size_t i = 0, some; i < n;) {
        size_t plain = decode_plain(in + i, n - i, out + *written);
        i += plain;
        *written += plain / 4 * 3;
        size_t group = n - i < 4 ? n - i : 4;
        if (group == 0)
            break;
        int ok = decode_group(job->between, in + i, group, out + *written, &some);
        *written += some;
        i += group;
        if (!ok || (job->between == BASE64_WHITE_SPACE && i < n))
            return 0;
    }
    return 1;
}

/* The same for whole groups without padding. */
static int decode_by_provider(const struct base64_decode *job, const unsigned char *in, size_t n,
                              unsigned char *out)
{
    size_t line = 0, room = n / 4 * 3;
    OSSL_PARAM format[] = {OSSL_PARAM_construct_size_t("line-length", &line),
                           OSSL_PARAM_construct_end()};
    OSSL_PARAM outsize[] = {OSSL_PARAM_construct_size_t("outsize", &room),
                            OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written = 0;
    int ok = context != NULL && EVP_CipherInit_ex2(context, job->cipher, NULL, NULL, 0, format) &&
             EVP_CIPHER_CTX_set_params(context, outsize) &&
             EVP_CipherUpdate(context, out, &written, in, (int)n) && (size_t)written == room;
    EVP_CIPHER_CTX_free(context);
    return ok;
}

/* ---- Stages --------------------------------------------------------------------------- */

static int strip_piece(void *context, struct piece *piece)
{
    const struct base64_decode *job = context;
    piece_use_spare(piece, strip(job->between, piece->data, piece->bytes, piece_spare(piece)));
    return 1;
}

/*
 * All but the last piece keep some characters for the next one, so that the last one has
 * the end of the text, however that is cut.
 */
static int carry_over(void *context, struct piece *piece)
{
    struct base64_decode *job = context;
    piece->data -= job->carried;
    piece->bytes += job->carried;
    memcpy(piece->data, job->carry, job->carried);
    job->carried = 0;
    if (piece->last)
        return 1;
    job->carried = piece->bytes % BASE64_CARRY;
    if (job->carried == 0 && piece->bytes != 0)
        job->carried = BASE64_CARRY;
    piece->bytes -= job->carried;
    memcpy(job->carry, piece->data + piece->bytes, job->carried);
    return 1;
}

static int decode_piece(void *context, struct piece *piece)
{
    const struct base64_decode *job = context;
    unsigned char *out = piece_spare(piece);
    /* The last group may be padded. */
    size_t plain = piece->last ? (piece->bytes > 0 ? (piece->bytes - 1) / 4 * 4 : 0) : piece->bytes;
    size_t written, done = 0;
    if (job->cipher != NULL && plain != 0) {
        if (decode_by_provider(job, piece->data, plain, out))
            done = plain;
        else if (decode_plain(piece->data, plain, out) == plain) /* it is not the text's fault */
            return piece_fail(piece, "Base64 cannot be decoded: %s", openssl_reason());
        ERR_clear_error();
    }
    int ok =
        decode_on_cpu(job, piece->data + done, piece->bytes - done, out + done / 4 * 3, &written);
    written += done / 4 * 3;
    piece->broken = !ok;
    piece_use_spare(piece, written);
    return ok || piece_fail(piece, "invalid input") || job->between != BASE64_WHITE_SPACE;
}

void base64_decode_open(struct base64_decode *job, const struct library *library)
{
    job->cipher = library->gpuaes != NULL
                      ? EVP_CIPHER_fetch(library->context, "BASE64", "provider=gpuaes")
                      : NULL;
}

void base64_decode_close(struct base64_decode *job)
{
    EVP_CIPHER_free(job->cipher);
    OPENSSL_cleanse(job->carry, sizeof job->carry);
}

void base64_decode_add(struct base64_decode *job, struct pipeline *pipeline)
{
    pipeline_add(pipeline, strip_piece, job, 0);
    pipeline_add(pipeline, carry_over, job, 1);
    pipeline_add(pipeline, decode_piece, job, 0);
    pipeline_offloadable(pipeline);
}

size_t base64_decode_some(enum base64_between between, const unsigned char *text, size_t characters,
                          unsigned char *out, size_t room, int *right)
{
    const struct base64_decode job = {.between = between};
    unsigned char stripped[4096], decoded[4096];
    size_t n =
        strip(between, text, characters < sizeof stripped ? characters : sizeof stripped, stripped);
    size_t written;
    *right = decode_on_cpu(&job, stripped, n, decoded, &written);
    if (written > room)
        written = room;
    memcpy(out, decoded, written);
    OPENSSL_cleanse(decoded, sizeof decoded);
    return written;
}
