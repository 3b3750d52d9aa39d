/*
 * Base64 decoding; see codec.h.
 *
 * On the CPU the work is done by libcrypto, or by libbase64 where configure
 * found it. Both are laxer than we are: what they get here is whole quads
 * without padding, and nothing counts as decoded before they have taken all of
 * a piece. What they refuse is looked at again, one character at a time.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#ifdef HAVE_LIBBASE64
#include <libbase64.h>
#endif

#include "base/minmax.h"
#include "provider/ciphers/base64/codec.h"
#include "provider/common/errors.h"

enum {
    DECODE_PIECE = 16 << 10, /* a multiple of 4: stays in the cache between two passes */
    SCRATCH_PIECE = 16 << 20 /* text whose white space is taken out at one time */
};

/* ---- Decoding: characters ------------------------------------------------ */

static int decode_error(const struct base64_codec *d, uint64_t offset, const char *what)
{
    error_raise(d->provider, ERROR_BAD_BASE64, "at offset %llu: %s", (unsigned long long)offset,
                what);
    return 0;
}

/* All ones if low <= c <= high, else 0. */
static unsigned within(unsigned c, unsigned low, unsigned high)
{
    return ((low - 1 - c) & (c - high - 1)) >> 31 ? ~0u : 0;
}

/* The six bits of a character, or at least 64. */
static unsigned character_value(unsigned char c)
{
    unsigned upper = within(c, 'A', 'Z'), lower = within(c, 'a', 'z'), digit = within(c, '0', '9');
    unsigned plus = within(c, '+', '+'), slash = within(c, '/', '/');
    return (upper & (c - 65u)) | (lower & (c - 71u)) | (digit & (c + 4u)) | (plus & 62u) |
           (slash & 63u) | (~(upper | lower | digit | plus | slash) & 64u);
}

static int is_white(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int decode_padding(struct base64_codec *d, uint64_t at)
{
    if (d->held < 2)
        return decode_error(d, at, "padding where none can be");
    if (d->pads == 0 && (d->bits & (d->held == 2 ? 15 : 3)))
        return decode_error(d, d->last_at, "bits left over before the padding are not zero");
    d->pads++;
    d->bits <<= 6;
    return 1;
}

/* One character, at offset `at`; writes to *out when it completes a quad. */
static int decode_character(struct base64_codec *d, unsigned char **out, unsigned char c,
                            uint64_t at)
{
    if (d->padded)
        return decode_error(d, at, "text after the padding");
    if (c == '=') {
        if (!decode_padding(d, at))
            return 0;
    } else {
        unsigned value = character_value(c);
        if (value >= 64)
            return decode_error(d, at,
                                is_white(c) ? "white space where none may be (the parameter "
                                              "skip-white-space allows it)"
                                            : "not a character of the alphabet");
        if (d->pads)
            return decode_error(d, at, "the second '=' is missing");
        d->bits = d->bits << 6 | value;
        d->last_at = at;
    }
    if (++d->held < 4)
        return 1;
    for (unsigned i = 0; i + d->pads < 3; i++)
        *(*out)++ = (unsigned char)(d->bits >> (16 - 8 * i));
    d->padded = d->pads > 0;
    d->held = d->pads = 0;
    d->bits = 0;
    return 1;
}

/* Quads of a piece; 0 if they are not all of the alphabet. */
static int decode_quads(unsigned char *out, const unsigned char *in, size_t len)
{
#ifdef HAVE_LIBBASE64
    size_t written;
    return base64_decode((const char *)in, len, (char *)out, &written, 0) == 1 &&
           written == len / 4 * 3;
#else
    /* It trims white space at both ends, and says so by its length. */
    return EVP_DecodeBlock(out, in, (int)len) == (int)(len / 4 * 3);
#endif
}

/* Characters without line ends between them, the first at offset `at`, on the CPU. */
static int decode_span(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                       size_t len, uint64_t at)
{
    while (len) {
        size_t piece = len < DECODE_PIECE ? len & ~(size_t)3 : DECODE_PIECE;
        size_t single = d->held ? 4 - d->held : 4;
        if (piece && !d->held && !d->padded) {
            /* libcrypto takes '=' for 'A' */
            const unsigned char *padding = memchr(in, '=', piece);
            size_t quads = padding ? (size_t)(padding - in) & ~(size_t)3 : piece;

            if (quads && decode_quads(*out, in, quads)) {
                *out += quads / 4 * 3;
                in += quads;
                at += quads;
                len -= quads;
                continue;
            }
            if (quads)
                single = quads; /* there is a wrong one among these */
        }
        for (; len && single; single--, len--)
            if (!decode_character(d, out, *in++, at++))
                return 0;
    }
    return 1;
}

/* ---- Decoding: lines and white space ------------------------------------- */

/* How many bytes at `in` are above the space: no white space, no control characters. */
static size_t graphic_span(const unsigned char *in, size_t len)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t n = 0;
    for (; n + 8 <= len; n += 8) {
        uint64_t x;
        memcpy(&x, in + n, 8);
        /* Bit 7 is set exactly where the byte is under 0x21, or there is one below it. */
        if ((x - 0x21 * ones) & ~x & 0x80 * ones)
            break;
    }
    while (n < len && in[n] > ' ')
        n++;
    return n;
}

/* A '\r' or '\n' where strict lines are wanted; NULL or what is wrong with it. */
static const char *line_end(struct base64_codec *d, unsigned char c)
{
    if (d->after_cr && c != '\n')
        return "a carriage return without a line feed";
    if (d->after_cr) {
        d->after_cr = 0;
        return NULL;
    }
    if (d->column == 0)
        return "an empty line";
    if (d->column % 4)
        return "a line end within a group of four";
    d->closed = d->column < d->format.line_length;
    d->column = 0;
    d->after_cr = c == '\r';
    return NULL;
}

/*
 * From in[*at] on, skips what stands between lines and finds the next span of
 * text: *at and *span; the span is 0 at the end. Returns NULL, or what is wrong
 * at *at.
 */
static const char *next_span(struct base64_codec *d, const unsigned char *in, size_t len,
                             size_t *at, size_t *span)
{
    *span = 0;
    for (; *at < len; ++*at) {
        unsigned char c = in[*at];
        if (d->format.skip_white_space) {
            if (!is_white(c))
                break;
        } else if (c == '\n' || c == '\r' || d->after_cr) {
            const char *wrong =
                d->closed && !d->after_cr ? "a line end after the last line" : line_end(d, c);
            if (wrong)
                return wrong;
        } else if (d->closed) {
            return "text after a short line, which must be the last";
        } else if (d->column == d->format.line_length) {
            return "a line is too long";
        } else {
            break;
        }
    }
    if (*at == len)
        return NULL;
    *span = graphic_span(in + *at, len - *at);
    if (*span == 0)
        *span = 1; /* a control character: no text, as will be found */
    if (!d->format.skip_white_space) {
        if (*span > d->format.line_length - d->column)
            *span = d->format.line_length - d->column;
        d->column += *span;
    }
    return NULL;
}

static int has_separators(const struct base64_codec *d)
{
    return d->format.skip_white_space || d->format.line_length;
}

static int is_separator(const struct base64_codec *d, unsigned char c)
{
    return d->format.skip_white_space ? is_white(c)
                                      : d->format.line_length && (c == '\n' || c == '\r');
}

/* The whole input on the CPU; `in` stands at offset `at`. */
static int decode_cpu(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                      size_t len, uint64_t at)
{
    size_t i = 0, span;
    if (!has_separators(d))
        return decode_span(d, out, in, len, at);
    for (;;) {
        const char *wrong = next_span(d, in, len, &i, &span);
        if (wrong)
            return decode_error(d, at + i, wrong);
        if (span == 0)
            return 1;
        if (!decode_span(d, out, in + i, span, at + i))
            return 0;
        i += span;
    }
}

/* ---- Decoding: the GPU --------------------------------------------------- */

/* Whole quads that may go to the device: all but a padded one at the end. */
static size_t bulk_of(const unsigned char *in, size_t len)
{
    size_t bulk = len & ~(size_t)3;
    return bulk && in[bulk - 1] == '=' ? bulk - 4 : bulk;
}

/* Text without separators, from the start of a quad on: returns how much of it the device did. */
static size_t decode_on_device(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                               size_t len)
{
    size_t bulk = bulk_of(in, len);
    if (!base64_offload(d, WORK_BASE64_DECODE, in, *out, bulk))
        return 0;
    *out += bulk / 4 * 3;
    return bulk;
}

/*
 * A piece with separators, at offset `at`, which are taken out into `scratch`
 * first; then as above. Returns 1 if that is done, and 0 with the error raised. On anything
 * unusual, wrong text above all, returns -1 with the state as before: the CPU starts from the
 * beginning, it knows the offsets.
 */
static int decode_gathered(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                           size_t len, uint64_t at, unsigned char *scratch)
{
    struct base64_codec before = *d;
    size_t i = 0, span, gathered = 0;
    const char *wrong;
    while ((wrong = next_span(d, in, len, &i, &span)) == NULL && span != 0) {
        memcpy(scratch + gathered, in + i, span);
        gathered += span;
        i += span;
    }
    size_t rest = gathered - (wrong == NULL ? decode_on_device(d, out, scratch, gathered) : 0);
    if (d->undefined)
        return 0;
    if (rest == gathered) {
        *d = before;
        return -1;
    }
    /* The last characters, up to seven, from the input, where their offsets are known. */
    for (i = len; rest != 0; i--)
        rest -= !is_separator(d, in[i - 1]);
    for (; i < len; i++)
        if (!is_separator(d, in[i]) && !decode_character(d, out, in[i], at + i))
            return 0;
    return 1;
}

/* All of the input in pieces, *by_gpu of it by the device. */
static int decode_with_scratch(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                               size_t len, size_t *by_gpu)
{
    size_t capacity = min_u64(len, SCRATCH_PIECE);
    unsigned char *scratch = OPENSSL_malloc(capacity);
    uint64_t at = d->offset;
    int ok = 1;
    for (size_t piece; ok && len != 0; in += piece, at += piece, len -= piece) {
        int result = -1;
        piece = d->held != 0 ? 1 : min_u64(len, capacity); /* up to the next quad's start */
        if (d->held == 0 && scratch != NULL && !d->padded)
            result = decode_gathered(d, out, in, piece, at, scratch);
        if (result > 0)
            *by_gpu += piece;
        ok = result < 0 ? decode_cpu(d, out, in, piece, at) : result;
    }
    OPENSSL_clear_free(scratch, capacity);
    return ok;
}

/* Text without separators: up to the first quad's start on the CPU, then the device. */
static int decode_bare(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                       size_t len, size_t *by_gpu)
{
    size_t head = d->held != 0 ? min_u64(len, 4 - d->held) : 0;
    if (!decode_cpu(d, out, in, head, d->offset))
        return 0;
    if (!d->padded)
        *by_gpu = decode_on_device(d, out, in + head, len - head);
    head += *by_gpu;
    return !d->undefined && decode_cpu(d, out, in + head, len - head, d->offset + head);
}

/* ---- Decoding: the whole ------------------------------------------------- */

size_t base64_decoded_size(const struct base64_codec *d, const unsigned char *in, size_t len,
                           size_t room)
{
    size_t most = len / 4 * 3 + (d->held + len % 4) / 4 * 3, total = d->held, pads = 0;
    int ended = 0;
    if (most <= room)
        return most;
    /* What can be written at most: separators out, and padding at the very end. */
    for (size_t i = len; i; i--) {
        if (is_separator(d, in[i - 1]))
            continue;
        total++;
        ended = ended || in[i - 1] != '=';
        pads += !ended;
    }
    pads += ended ? 0 : d->pads;
    return total / 4 * 3 - (total % 4 == 0 && pads <= 2 && total ? pads : 0);
}

int base64_decode_update(struct base64_codec *d, unsigned char *out, size_t *produced,
                         const unsigned char *in, size_t len)
{
    unsigned char *end = out;
    struct work work = {
        .kind = WORK_BASE64_DECODE, .in = in, .out = out, .len = len, .out_len = len};
    int device = base64_choose(d, &work), ok;
    size_t by_gpu = 0;
    if (device < 0)
        return 0;
    if (!device)
        ok = decode_cpu(d, &end, in, len, d->offset);
    else if (has_separators(d))
        ok = decode_with_scratch(d, &end, in, len, &by_gpu);
    else
        ok = decode_bare(d, &end, in, len, &by_gpu);
    if (ok)
        base64_done(d, &work, device, by_gpu);
    d->offset += len;
    *produced = (size_t)(end - out);
    return ok;
}

int base64_decode_end(struct base64_codec *d)
{
    if (d->after_cr)
        return decode_error(d, d->offset, "the text ends within a line end");
    if (d->held)
        return decode_error(d, d->offset, "the text ends within a group of four");
    return 1;
}
