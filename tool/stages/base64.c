/*
 * The stages that encode pieces in Base64 and decode them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/stages/base64.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/minmax.h"

/* ---- Encoding --------------------------------------------------------------------------- */

/* What the last piece may be longer: it was encrypted. */
enum { LAST_PADDING = 32 };

/* Without lines. */
static uint64_t characters(uint64_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

size_t base64_encode_capacity(const struct base64_encode *job)
{
    size_t plain = (size_t)characters(job->piece + LAST_PADDING);
    return plain + (job->line != 0 ? plain / job->line + 2 : 1);
}

/* Cuts what has no lines, where the first character is number `at` of all. */
static void cut_lines(const struct base64_encode *job, struct piece *piece, uint64_t at)
{
    unsigned char *out = piece_spare(piece), *to = out;
    uint64_t column = at % job->line;
    for (size_t i = 0; i < piece->bytes;) {
        size_t n = min_u64(job->line - column, piece->bytes - i);
        memcpy(to, piece->data + i, n);
        to += n;
        i += n;
        column += n;
        if (column == job->line) {
            *to++ = '\n';
            column = 0;
        }
    }
    if (piece->last && column != 0)
        *to++ = '\n';
    piece_use_spare(piece, (size_t)(to - out));
}

int base64_encode_piece(void *context, struct piece *piece)
{
    const struct base64_encode *job = context;
    if (piece->bytes == 0)
        return 1;
    int n = EVP_EncodeBlock(piece_spare(piece), piece->data, (int)piece->bytes);
    if (n < 0)
        return piece_fail(piece, "Base64 cannot be encoded");
    piece_use_spare(piece, (size_t)n);
    if (job->line != 0)
        cut_lines(job, piece, piece->number * characters(job->piece));
    return 1;
}

/* ---- Decoding: characters --------------------------------------------------------------- */

enum { NO_CHARACTER = 64, PADDING = 65, SPACE = 66 };

/* The value of each character, or one of the above. */
static unsigned char values[256];

__attribute__((constructor)) static void fill_values(void)
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
    size_t kept = 0;
    int only_line_feeds = between == BASE64_LINE_FEEDS ||
                          (between == BASE64_WHITE_SPACE && memchr(in, '\r', bytes) == NULL &&
                           memchr(in, ' ', bytes) == NULL && memchr(in, '\t', bytes) == NULL);
    if (only_line_feeds)
        return strip_line_feeds(in, bytes, out);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char v = values[in[i]];
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
        v[i] = values[in[i]];
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

/* Decodes all, a group at a time; returns whether it is right. */
static int decode_groups(enum base64_between between, const unsigned char *in, size_t n,
                         unsigned char *out, size_t *written)
{
    *written = 0;
    for (size_t i = 0, some; i < n; i += 4) {
        int ok = decode_group(between, in + i, min_u64(n - i, 4), out + *written, &some);
        *written += some;
        int is_padded = some < 3 && between == BASE64_WHITE_SPACE;
        if (!ok || (is_padded && i + 4 < n))
            return 0;
    }
    return 1;
}

/* Decodes whole groups without padding; returns whether they are. */
static int decode_plain(const struct piece *piece, size_t bytes)
{
    /* It takes padding for zeros, and leaves out white space at both ends. */
    return memchr(piece->data, '=', bytes) == NULL &&
           EVP_DecodeBlock(piece_spare(piece), piece->data, (int)bytes) == (int)(bytes / 4 * 3);
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

static int fail_invalid(const struct base64_decode *job, struct piece *piece)
{
    if (job->name == NULL)
        return piece_fail(piece, "invalid input");
    return piece_fail(piece, "%s: its Base64 is damaged or cut off", job->name);
}

static int decode_piece(void *context, struct piece *piece)
{
    const struct base64_decode *job = context;
    unsigned char *out = piece_spare(piece);
    size_t written, done = piece->bytes / 4 * 4;
    if (piece->last && done != 0 && done == piece->bytes)
        done -= 4; /* the last group may be padded */
    if (done != 0 && !decode_plain(piece, done))
        done = 0;
    piece->broken = !decode_groups(job->between, piece->data + done, piece->bytes - done,
                                   out + done / 4 * 3, &written);
    piece_use_spare(piece, done / 4 * 3 + written);
    return !piece->broken || fail_invalid(job, piece) || job->between != BASE64_WHITE_SPACE;
}

void base64_decode_close(struct base64_decode *job)
{
    OPENSSL_cleanse(job->carry, sizeof job->carry);
}

void base64_decode_add(struct base64_decode *job, struct pipeline *pipeline)
{
    pipeline_add(pipeline, strip_piece, job, STAGE_UNORDERED);
    pipeline_add(pipeline, carry_over, job, STAGE_ORDERED);
    pipeline_add(pipeline, decode_piece, job, STAGE_UNORDERED);
}

size_t base64_decode_some(enum base64_between between, const unsigned char *text, size_t count,
                          unsigned char *out, size_t capacity, int *right)
{
    unsigned char stripped[4096], decoded[4096];
    size_t n = strip(between, text, min_u64(count, sizeof stripped), stripped);
    size_t written;
    *right = decode_groups(between, stripped, n, decoded, &written);
    written = min_u64(written, capacity);
    memcpy(out, decoded, written);
    OPENSSL_cleanse(decoded, sizeof decoded);
    return written;
}
