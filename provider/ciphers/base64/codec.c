/*
 * Base64 encoding, and what it shares with decode.c; see
 * codec.h. On the CPU the work is done by libcrypto, or by libbase64
 * where configure found it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>
#ifdef HAVE_LIBBASE64
#include <libbase64.h>
#endif

#include "provider/ciphers/base64/codec.h"
#include "provider/common/errors.h"
#include "provider/common/offload.h"
#include "provider/common/statistics.h"
#include "provider/policy/policy.h"

enum { ENCODE_PIECE = 48 << 20 }; /* a multiple of 3: libcrypto's lengths are ints */

int base64_choose(struct provider *provider, struct work *work)
{
    enum policy_choice choice = CHOICE_CPU;

    work->cell = NULL;
    work->why = CPU_SMALL;
    if (work->len != 0)
        choice = policy_choose(provider, work);
    if (choice == CHOICE_GPU_ONLY)
        error_raise(provider, ERROR_DEVICE_MEMORY, "Base64 takes host memory only");
    return choice == CHOICE_CPU ? 0 : choice == CHOICE_GPU ? 1 : -1;
}

void base64_done(struct totals *totals, const struct work *work, int chosen, size_t by_gpu)
{
    (void)totals_forget(totals);
    totals->cpu_bytes[work->why] += work->len - by_gpu;
    if (chosen == (by_gpu > work->len / 2))
        policy_done(work, chosen ? MODEL_GPU : MODEL_CPU);
}

int base64_cpu_may_go_on(const struct provider *provider, enum gpuaes_status status)
{
    if (status == GPUAES_UNDEFINED)
        error_raise(provider, ERROR_OUTPUT_UNDEFINED, "the device may still write to it");
    else
        policy_explain_failure(provider, status);
    return status != GPUAES_UNDEFINED;
}

int base64_format_set(struct base64_format *format, const struct provider *provider,
                      const OSSL_PARAM params[])
{
    const OSSL_PARAM *line_length, *skip;
    size_t length;

    if (!params)
        return 1;
    line_length = OSSL_PARAM_locate_const(params, BASE64_PARAM_LINE_LENGTH);
    skip = OSSL_PARAM_locate_const(params, BASE64_PARAM_SKIP_WHITE_SPACE);
    if (line_length) {
        if (!OSSL_PARAM_get_size_t(line_length, &length) ||
            (length != 0 && length != 64 && length != 76)) {
            error_raise(provider, ERROR_BAD_PARAMETER, "%s must be 0, 64 or 76",
                        BASE64_PARAM_LINE_LENGTH);
            return 0;
        }
        format->line_length = length;
    }
    if (skip && !OSSL_PARAM_get_int(skip, &format->skip_white_space)) {
        error_raise(provider, ERROR_BAD_PARAMETER, "%s must be an integer, 0 or 1",
                    BASE64_PARAM_SKIP_WHITE_SPACE);
        return 0;
    }
    return 1;
}

/* ---- Encoding ------------------------------------------------------------ */

void base64_encoding_start(struct base64_encoding *e, struct provider *provider,
                           const struct base64_format *format)
{
    memset(e, 0, sizeof *e);
    e->provider = provider;
    e->line_length = format->line_length;
}

size_t base64_encoding_size(const struct base64_encoding *e, size_t len)
{
    size_t characters;

    if (len > SIZE_MAX / 2)
        return SIZE_MAX;
    characters = (e->held_bytes + len) / 3 * 4;
    return e->line_length ? characters + (e->column + characters) / e->line_length : characters;
}

/*
 * Encodes groups of three. `spare`: the byte after the output may be written
 * to; libcrypto's encoder puts a NUL there.
 */
static void encode_groups(unsigned char *out, const unsigned char *in, size_t len, int spare)
{
#ifdef HAVE_LIBBASE64
    size_t written;

    (void)spare;
    base64_encode((const char *)in, len, (char *)out, &written, 0);
#else
    size_t direct = spare || len == 0 ? len : len - 3;

    while (direct) {
        size_t piece = direct < ENCODE_PIECE ? direct : ENCODE_PIECE;

        EVP_EncodeBlock(out, in, (int)piece);
        in += piece;
        out += piece / 3 * 4;
        direct -= piece;
        len -= piece;
    }
    if (len) {
        unsigned char quad[5];

        EVP_EncodeBlock(quad, in, 3);
        memcpy(out, quad, 4);
        OPENSSL_cleanse(quad, sizeof quad);
    }
#endif
}

/* Encodes groups of three with line ends; returns the characters written. */
static size_t encode_lines(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                           size_t len)
{
    const unsigned char *start = out;

    if (e->line_length == 0) {
        encode_groups(out, in, len, 0);
        return len / 3 * 4;
    }
    while (len) {
        size_t rest = (e->line_length - e->column) / 4 * 3;
        size_t piece = len < rest ? len : rest;

        encode_groups(out, in, piece, piece == rest);
        in += piece;
        out += piece / 3 * 4;
        len -= piece;
        e->column += piece / 3 * 4;
        if (e->column == e->line_length) {
            *out++ = '\n';
            e->column = 0;
        }
    }
    return (size_t)(out - start);
}

/* Whole lines, or groups of three, by the GPU: *done bytes of `in`. 0 where nobody can do the rest.
 */
static int encode_on_device(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                            size_t len, size_t *done)
{
    size_t unit = e->line_length ? e->line_length / 4 * 3 : 3;
    struct offload work = {.call = OFFLOAD_ENCODE,
                           .in = in,
                           .out = out,
                           .bytes = len / unit * unit,
                           .line_length = e->line_length,
                           .flags = policy_flags(e->provider)};
    if (work.bytes == 0)
        return 1;
    enum gpuaes_status status = offload(&work);
    if (status == GPUAES_OK)
        *done = work.bytes;
    else
        e->undefined = !base64_cpu_may_go_on(e->provider, status);
    return !e->undefined;
}

/* Groups of three, on the device from the start of a line on. */
static int encode(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                  size_t len, int on_device, size_t *by_gpu)
{
    if (on_device) {
        size_t head = e->column ? (e->line_length - e->column) / 4 * 3 : 0;
        head = head < len ? head : len;
        out += encode_lines(e, out, in, head);
        in += head;
        len -= head;
        if (!encode_on_device(e, out, in, len, by_gpu))
            return 0;
        out += gpuaes_base64_encoded_size(*by_gpu, e->line_length);
    }
    (void)encode_lines(e, out, in + *by_gpu, len - *by_gpu);
    return 1;
}

int base64_encoding_update(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                           size_t len)
{
    struct work work = {.kind = WORK_BASE64_ENCODE, .in = in, .out = out, .len = len};
    size_t by_gpu = 0;
    int device = base64_choose(e->provider, &work);

    if (device < 0)
        return 0;
    for (; len && e->held_bytes && e->held_bytes < 3; len--)
        e->held[e->held_bytes++] = *in++;
    if (e->held_bytes == 3) {
        out += encode_lines(e, out, e->held, 3);
        e->held_bytes = 0;
    }
    if (!encode(e, out, in, len / 3 * 3, device, &by_gpu))
        return 0;
    base64_done(&e->totals, &work, device, by_gpu);
    for (in += len / 3 * 3, len %= 3; len; len--)
        e->held[e->held_bytes++] = *in++;
    return 1;
}

size_t base64_encoding_end_size(const struct base64_encoding *e)
{
    size_t quad = e->held_bytes ? 4 : 0;

    return quad + (e->line_length && e->column + quad ? 1 : 0);
}

size_t base64_encoding_end(struct base64_encoding *e, unsigned char *out)
{
    const unsigned char *start = out;

    if (e->held_bytes) {
        unsigned char quad[5];

        EVP_EncodeBlock(quad, e->held, (int)e->held_bytes);
        memcpy(out, quad, 4);
        OPENSSL_cleanse(quad, sizeof quad);
        out += 4;
        e->column += 4;
    }
    if (e->line_length && e->column)
        *out++ = '\n';
    e->held_bytes = 0;
    e->column = 0;
    return (size_t)(out - start);
}

void base64_encoding_clear(struct base64_encoding *e)
{
    if (e->provider != NULL)
        totals_flush(&e->totals);
    OPENSSL_cleanse(e->held, sizeof e->held);
    e->held_bytes = 0;
}
