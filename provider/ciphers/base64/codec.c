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
#include "provider/common/process.h"
#include "provider/common/statistics.h"
#include "provider/policy/policy.h"

enum {
    ENCODE_PIECE = 48 << 20,    /* a multiple of 3: libcrypto's lengths are ints */
    COUNT_STEP = 1 << 20,       /* the statistics are shared by all threads */
    COUNTS_TO_START = 64 << 10, /* smaller updates are no reason to start a device */
};

/* What a forked child finds here its parent counts. */
static void count_own(struct base64_count *count)
{
    unsigned generation = process_generation();
    if (count->generation != generation)
        count->bytes = count->to_start = 0;
    count->generation = generation;
}

void base64_count_add(struct base64_count *count, size_t bytes, size_t update)
{
    count_own(count);
    count->bytes += bytes;
    if (update >= COUNTS_TO_START)
        count->to_start += bytes;
    if (count->to_start >= COUNT_STEP) {
        policy_count(count->to_start);
        count->to_start = 0;
    }
    if (count->bytes >= COUNT_STEP) {
        statistics_add_cpu_bytes(count->why, count->bytes);
        count->bytes = 0;
    }
}

void base64_count_end(struct base64_count *count)
{
    count_own(count);
    policy_count(count->to_start);
    if (count->bytes)
        statistics_add_cpu_bytes(count->why, count->bytes);
    count->bytes = count->to_start = 0;
}

int base64_choose(struct base64_count *count, struct provider *provider, struct work *work)
{
    enum policy_choice choice = CHOICE_CPU;

    work->cell = NULL;
    work->why = CPU_SMALL;
    if (work->len != 0)
        choice = policy_choose(provider, work);
    if (work->why != count->why)
        base64_count_end(count);
    count->why = work->why;
    switch (choice) {
    case CHOICE_CPU:
        return 0;
    case CHOICE_GPU:
        return 1;
    case CHOICE_GPU_ONLY:
        error_raise(provider, ERROR_DEVICE_MEMORY, "Base64 takes host memory only");
        break;
    case CHOICE_FAIL:
        break;
    }
    return -1;
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

/*
 * Groups of three, by the GPU: *done is how much it, and the CPU up to the
 * first line's start, encoded into *written characters. 0 where nobody can do
 * the rest.
 */
static int encode_on_device(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                            size_t len, size_t *done, size_t *written)
{
    size_t unit = e->line_length ? e->line_length / 4 * 3 : 3;
    size_t head = e->column ? (e->line_length - e->column) / 4 * 3 : 0;
    size_t bulk = len > head ? (len - head) / unit * unit : 0;
    enum gpuaes_status status;

    if (bulk == 0)
        return 1;
    *written = encode_lines(e, out, in, head);
    *done = head;
    base64_count_add(&e->count, head, len);
    struct offload_base64 work = {.in = in + head,
                                  .out = out + *written,
                                  .bytes = bulk,
                                  .line_length = e->line_length,
                                  .flags = policy_flags(e->provider)};
    status = offload_base64(&work);
    if (status != GPUAES_OK) {
        e->undefined = !base64_cpu_may_go_on(e->provider, status);
        return !e->undefined;
    }
    *done += bulk;
    *written += gpuaes_base64_encoded_size(bulk, e->line_length);
    return 1;
}

int base64_encoding_update(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                           size_t len)
{
    size_t update = len, groups, done = 0, written = 0;
    struct work work = {.kind = WORK_BASE64_ENCODE, .in = in, .out = out, .len = len};
    int device = base64_choose(&e->count, e->provider, &work);

    if (device < 0)
        return 0;
    if (e->held_bytes) {
        while (e->held_bytes < 3 && len) {
            e->held[e->held_bytes++] = *in++;
            len--;
        }
        if (e->held_bytes < 3)
            return 1;
        out += encode_lines(e, out, e->held, 3);
        e->held_bytes = 0;
        base64_count_add(&e->count, 3, update);
    }
    groups = len / 3 * 3;
    if (device && !encode_on_device(e, out, in, groups, &done, &written))
        return 0;
    encode_lines(e, out + written, in + done, groups - done);
    base64_count_add(&e->count, groups - done, update);
    if (device == (done > groups / 2))
        policy_done(&work, device ? MODEL_GPU : MODEL_CPU);
    for (in += groups, len -= groups; len; len--)
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
        base64_count_add(&e->count, e->held_bytes, 0);
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
    if (e->provider)
        base64_count_end(&e->count);
    OPENSSL_cleanse(e->held, sizeof e->held);
    e->held_bytes = 0;
}
