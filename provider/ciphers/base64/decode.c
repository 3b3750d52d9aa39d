/*
 * Base64 decoding; see codec.h.
 *
 * Each character takes the state one step on. Whole quads that lie together, without padding, go to
 * libcrypto, to libbase64 where configure found it, or to the device; where one of those refuses
 * them, the characters are taken one by one up to the wrong one.
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
    SCRATCH_PIECE = 16 << 20 /* text whose separators are taken out at one time */
};

static int decode_error(const struct base64_codec *d, const char *wrong)
{
    error_raise(d->provider, ERROR_BAD_BASE64, "at offset %llu: %s", (unsigned long long)d->offset,
                wrong);
    return 0;
}

/* ---- One character ---------------------------------------------------------------- */

/* Returns the six bits of a character of the alphabet, or -1. */
static int character_value(unsigned char c)
{
    unsigned char quad[4] = {'A', 'A', 'A', c}, bytes[3];
    int value = EVP_DecodeBlock(bytes, quad, sizeof quad) == sizeof bytes ? bytes[2] : -1;
    OPENSSL_cleanse(bytes, sizeof bytes);
    return value;
}

static int is_white(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int has_separators(const struct base64_codec *d)
{
    return d->format.skip_white_space || d->format.line_length != 0;
}

static int is_separator(const struct base64_codec *d, unsigned char c)
{
    if (d->format.skip_white_space)
        return is_white(c);
    return d->format.line_length != 0 && (c == '\n' || c == '\r');
}

/* Returns NULL, or what is wrong with it, as take_text() does. */
static const char *take_separator(struct base64_codec *d, unsigned char c)
{
    if (d->format.skip_white_space)
        return NULL;
    if (d->after_cr) {
        d->after_cr = c != '\n';
        return d->after_cr ? "a carriage return without a line feed" : NULL;
    }
    if (d->closed)
        return "a line end after the last line";
    if (d->column == 0)
        return "an empty line";
    if (d->column % 4 != 0)
        return "a line end within a group of four";
    d->closed = d->column < d->format.line_length;
    d->column = 0;
    d->after_cr = c == '\r';
    return NULL;
}

static const char *take_padding(struct base64_codec *d)
{
    if (d->buffered < 2)
        return "padding where none can be";
    if (d->pads == 0 && (d->bits & (d->buffered == 2 ? 15 : 3)) != 0)
        return "bits left over before the padding are not zero";
    d->pads++;
    d->bits <<= 6;
    return NULL;
}

static const char *take_value(struct base64_codec *d, unsigned char c)
{
    int value = character_value(c);
    if (value < 0 && is_white(c))
        return "white space where none may be (the parameter skip-white-space allows it)";
    if (value < 0)
        return "not a character of the alphabet";
    if (d->pads != 0)
        return "the second '=' is missing";
    d->bits = d->bits << 6 | (unsigned)value;
    return NULL;
}

/* Writes to *out where the character completes a quad. */
static const char *take_text(struct base64_codec *d, unsigned char **out, unsigned char c)
{
    if (d->closed)
        return "text after a short line, which must be the last";
    if (!d->format.skip_white_space && d->format.line_length != 0 &&
        d->column == d->format.line_length)
        return "a line is too long";
    if (d->padded)
        return "text after the padding";
    const char *wrong = c == '=' ? take_padding(d) : take_value(d, c);
    if (wrong != NULL)
        return wrong;
    d->column++;
    if (++d->buffered < 4)
        return NULL;
    for (unsigned i = 0; i + d->pads < 3; i++)
        *(*out)++ = (unsigned char)(d->bits >> (16 - 8 * i));
    d->padded = d->pads > 0;
    d->buffered = d->pads = 0;
    d->bits = 0;
    return NULL;
}

static int decode_character(struct base64_codec *d, unsigned char **out, unsigned char c)
{
    const char *wrong =
        d->after_cr || is_separator(d, c) ? take_separator(d, c) : take_text(d, out, c);
    if (wrong != NULL)
        return decode_error(d, wrong);
    d->offset++;
    return 1;
}

/* ---- Whole quads ------------------------------------------------------------------ */

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

/*
 * Returns how many characters at `in` are quads without separators or padding, some of which may be
 * wrong: a piece at most, and 0 where the next character needs the state.
 */
static size_t next_quads(const struct base64_codec *d, const unsigned char *in, size_t len)
{
    size_t most = min_u64(len, DECODE_PIECE);
    if (d->buffered != 0 || d->padded || d->closed || d->after_cr)
        return 0;
    if (!d->format.skip_white_space && d->format.line_length != 0)
        most = min_u64(most, d->format.line_length - d->column);
    if (has_separators(d))
        most = graphic_span(in, most);
    const unsigned char *padding = memchr(in, '=', most);
    return (padding != NULL ? (size_t)(padding - in) : most) & ~(size_t)3;
}

static void pass_quads(struct base64_codec *d, size_t characters)
{
    d->column += characters;
    d->offset += characters;
}

static int decode_cpu(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                      size_t len)
{
    while (len != 0) {
        size_t quads = next_quads(d, in, len);
        size_t singles = quads != 0 ? quads : 1;
        if (quads != 0 && decode_quads(*out, in, quads)) {
            pass_quads(d, quads);
            *out += quads / 4 * 3;
            in += quads;
            len -= quads;
            continue;
        }
        for (; singles != 0; singles--, len--)
            if (!decode_character(d, out, *in++))
                return 0;
    }
    return 1;
}

/* ---- The device ------------------------------------------------------------------- */

/*
 * Copies quads to `scratch` without what stands between them, up to a quad that is cut or padded.
 * Returns how many characters of the input that took.
 */
static size_t gather(struct base64_codec *d, unsigned char *scratch, size_t *gathered,
                     const unsigned char *in, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t quads = next_quads(d, in + at, len - at);
        if (quads != 0) {
            memcpy(scratch + *gathered, in + at, quads);
            *gathered += quads;
            pass_quads(d, quads);
            at += quads;
        } else if (is_separator(d, in[at]) && take_separator(d, in[at]) == NULL) {
            d->offset++;
            at++;
        } else {
            break;
        }
    }
    return at;
}

/*
 * Has the device decode text from the start of a quad on, and adds to `offered` how many characters
 * it was given. Returns how many that took: 0, with the state as before, where it was not done, on
 * wrong text above all.
 */
static size_t decode_on_device(struct base64_codec *d, unsigned char **out, unsigned char *scratch,
                               const unsigned char *in, size_t len, size_t *offered)
{
    struct base64_codec before = *d;
    size_t quads = 0, taken;
    if (has_separators(d)) {
        taken = gather(d, scratch, &quads, in, len);
        in = scratch;
    } else {
        quads = len & ~(size_t)3;
        if (quads != 0 && in[quads - 1] == '=')
            quads -= 4;
        pass_quads(d, quads);
        taken = quads;
    }
    *offered += quads != 0 ? taken : 0;
    if (base64_run_on_device(d, WORK_BASE64_DECODE, in, *out, quads)) {
        *out += quads / 4 * 3;
        return taken;
    }
    before.undefined = d->undefined;
    *d = before;
    return 0;
}

/* The device does what it can of each piece, of which there is one where nothing is gathered. */
static int decode_with_device(struct base64_codec *d, unsigned char **out, const unsigned char *in,
                              size_t len, size_t *offered, size_t *by_gpu)
{
    size_t most = has_separators(d) ? min_u64(len, SCRATCH_PIECE) : len;
    unsigned char *scratch = has_separators(d) ? OPENSSL_malloc(most) : NULL;
    int ok = 1;
    for (size_t piece; ok && len != 0; in += piece, len -= piece) {
        size_t taken = 0;
        piece = d->buffered != 0 ? 1 : min_u64(len, most);
        if (d->buffered == 0 && !d->padded && (scratch != NULL || !has_separators(d)))
            taken = decode_on_device(d, out, scratch, in, piece, offered);
        *by_gpu += taken;
        ok = !d->undefined && decode_cpu(d, out, in + taken, piece - taken);
    }
    OPENSSL_clear_free(scratch, most);
    return ok;
}

/* ---- The whole -------------------------------------------------------------------- */

size_t base64_decoded_size(const struct base64_codec *d, const unsigned char *in, size_t len,
                           size_t outsize)
{
    size_t most = len / 4 * 3 + (d->buffered + len % 4) / 4 * 3;
    size_t total = d->buffered, pads = d->pads;
    if (most <= outsize)
        return most;
    /* What can be written at most: separators out, and padding at the very end. */
    for (size_t i = 0; i < len; i++)
        if (!is_separator(d, in[i])) {
            total++;
            pads = in[i] == '=' ? pads + 1 : 0;
        }
    return total / 4 * 3 - (total % 4 == 0 && pads <= 2 ? pads : 0);
}

int base64_decode_update(struct base64_codec *d, unsigned char *out, size_t *produced,
                         const unsigned char *in, size_t len)
{
    unsigned char *end = out;
    struct work work = {
        .kind = WORK_BASE64_DECODE, .in = in, .out = out, .len = len, .out_len = len};
    int device = base64_choose(d, &work);
    size_t offered = 0, by_gpu = 0;
    if (device < 0)
        return 0;
    int ok = device ? decode_with_device(d, &end, in, len, &offered, &by_gpu)
                    : decode_cpu(d, &end, in, len);
    if (ok)
        base64_done(&work, device, offered, by_gpu);
    *produced = (size_t)(end - out);
    return ok;
}

int base64_decode_end(struct base64_codec *d)
{
    if (d->after_cr)
        return decode_error(d, "the text ends within a line end");
    if (d->buffered)
        return decode_error(d, "the text ends within a group of four");
    return 1;
}
