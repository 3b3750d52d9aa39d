/*
 * Base64 encoding, and what it shares with decode.c; see codec.h. On the CPU the work is done
 * by libcrypto, or by libbase64 where configure found it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/base64/codec.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>
#ifdef HAVE_LIBBASE64
#include <libbase64.h>
#endif

#include "base/minmax.h"
#include "provider/common/big_stack.h"
#include "provider/common/errors.h"

enum { ENCODE_PIECE = 48 << 20 }; /* a multiple of 3: libcrypto's lengths are ints */

void base64_start(struct base64_codec *c, struct provider *provider,
                  const struct base64_format *format)
{
    *c = (struct base64_codec){.provider = provider, .format = *format};
}

void base64_clear(struct base64_codec *c)
{
    OPENSSL_cleanse(c->group, sizeof c->group);
    OPENSSL_cleanse(&c->bits, sizeof c->bits);
    c->buffered = 0;
}

int base64_format_set(struct base64_format *format, const struct provider *provider,
                      const OSSL_PARAM params[])
{
    const OSSL_PARAM *line_length = OSSL_PARAM_locate_const(params, BASE64_PARAM_LINE_LENGTH),
                     *skip = OSSL_PARAM_locate_const(params, BASE64_PARAM_SKIP_WHITE_SPACE);
    if (line_length != NULL) {
        size_t length;
        if (!OSSL_PARAM_get_size_t(line_length, &length)) {
            error_raise(provider, ERROR_BAD_PARAMETER, "%s must be an integer, 0, 64 or 76",
                        BASE64_PARAM_LINE_LENGTH);
            return 0;
        }
        if (length != 0 && length != 64 && length != 76) {
            error_raise(provider, ERROR_BAD_PARAMETER, "%s is %zu, expected 0, 64 or 76",
                        BASE64_PARAM_LINE_LENGTH, length);
            return 0;
        }
        format->line_length = length;
    }
    if (skip == NULL || OSSL_PARAM_get_int(skip, &format->skip_white_space))
        return 1;
    error_raise(provider, ERROR_BAD_PARAMETER, "%s must be an integer, 0 or 1",
                BASE64_PARAM_SKIP_WHITE_SPACE);
    return 0;
}

/* ---- The device ------------------------------------------------------------------- */

int base64_choose(const struct base64_codec *c, struct work *work)
{
    enum policy_choice choice = CHOICE_CPU;
    work->cell = NULL;
    work->why = CPU_SMALL;
    if (work->len != 0)
        choice = policy_choose(c->provider, work);
    if (choice == CHOICE_GPU_ONLY)
        error_raise(c->provider, ERROR_DEVICE_MEMORY, "Base64 takes host memory only");
    return choice == CHOICE_CPU ? 0 : choice == CHOICE_GPU ? 1 : -1;
}

struct base64_call {
    enum policy_work kind;
    const unsigned char *in;
    unsigned char *out;
    size_t bytes, line_length;
    unsigned flags;
};

static enum gpuaes_status call_base64(void *arg)
{
    const struct base64_call *call = arg;
    if (call->kind == WORK_BASE64_ENCODE)
        return gpuaes_base64_encode(call->in, call->bytes, call->out, call->line_length,
                                    call->flags);
    return gpuaes_base64_decode(call->in, call->bytes, call->out, call->flags, NULL);
}

int base64_run_on_device(struct base64_codec *c, enum policy_work kind, const unsigned char *in,
                         unsigned char *out, size_t bytes)
{
    struct base64_call call = {
        kind, in, out, bytes, c->format.line_length, policy_flags(c->provider)};
    if (bytes == 0)
        return 0;
    enum gpuaes_status status = run_on_big_stack(call_base64, &call, call.flags);
    c->undefined = status == GPUAES_UNDEFINED;
    if (c->undefined)
        error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "the device may still write to it");
    else if (status != GPUAES_OK && status != GPUAES_BAD_INPUT)
        policy_explain_failure(c->provider, status);
    return status == GPUAES_OK;
}

void base64_done(const struct work *work, int chosen, size_t offered, size_t by_gpu)
{
    statistics_add(work->why, (chosen ? offered : work->len) - by_gpu);
    if (chosen) /* groups, or lines, that are not whole */
        statistics_add(CPU_SMALL, work->len - offered);
    if (chosen == (by_gpu > work->len / 2))
        policy_done(work, chosen ? MODEL_GPU : MODEL_CPU);
}

/* ---- Encoding --------------------------------------------------------------------- */

size_t base64_encoded_size(const struct base64_codec *c, size_t len)
{
    if (len > SIZE_MAX / 2)
        return SIZE_MAX;
    size_t characters = (c->buffered + len) / 3 * 4, line = c->format.line_length;
    return line != 0 ? characters + (c->column + characters) / line : characters;
}

/* Encodes one group of up to three bytes. */
static void encode_group(unsigned char out[4], const unsigned char *in, size_t len)
{
    unsigned char quad[5]; /* libcrypto's encoder ends it by a NUL */
    EVP_EncodeBlock(quad, in, (int)len);
    memcpy(out, quad, 4);
    OPENSSL_cleanse(quad, sizeof quad);
}

/* Encodes groups of three; may write a NUL after them. */
static void encode_groups(unsigned char *out, const unsigned char *in, size_t len)
{
#ifdef HAVE_LIBBASE64
    size_t written;
    base64_encode((const char *)in, len, (char *)out, &written, 0);
#else
    EVP_EncodeBlock(out, in, (int)len);
#endif
}

/* Encodes groups of three with line ends; returns the characters written. */
static size_t encode_lines(struct base64_codec *c, unsigned char *out, const unsigned char *in,
                           size_t len)
{
    const unsigned char *start = out;
    size_t line = c->format.line_length;
    for (size_t piece; len != 0; in += piece, len -= piece) {
        size_t most = line != 0 ? (line - c->column) / 4 * 3 : ENCODE_PIECE;
        piece = len > 3 ? min_u64(len - 3, most) : 3; /* the last group overwrites the NUL */
        if (len > 3)
            encode_groups(out, in, piece);
        else
            encode_group(out, in, 3);
        out += piece / 3 * 4;
        c->column += piece / 3 * 4;
        if (c->column == line) {
            *out++ = '\n';
            c->column = 0;
        }
    }
    return (size_t)(out - start);
}

/* The device encodes whole lines, from the start of one on. */
int base64_encode_update(struct base64_codec *c, unsigned char *out, const unsigned char *in,
                         size_t len)
{
    struct work work = {
        .kind = WORK_BASE64_ENCODE, .in = in, .out = out, .len = len, .out_len = len};
    int device = base64_choose(c, &work);
    size_t line = c->format.line_length, unit = line != 0 ? line / 4 * 3 : 3, head = 0;
    size_t offered = 0, by_gpu = 0;
    if (device < 0)
        return 0;
    c->offset += len;
    for (; len != 0 && c->buffered != 0 && c->buffered < 3; len--)
        c->group[c->buffered++] = *in++;
    if (c->buffered == 3) {
        out += encode_lines(c, out, c->group, 3);
        c->buffered = 0;
    }
    size_t groups = len / 3 * 3;
    if (device) {
        head = line != 0 && c->column != 0 ? min_u64(groups, (line - c->column) / 4 * 3) : 0;
        out += encode_lines(c, out, in, head);
        offered = (groups - head) / unit * unit;
        by_gpu = base64_run_on_device(c, WORK_BASE64_ENCODE, in + head, out, offered) ? offered : 0;
        if (c->undefined)
            return 0;
        out += gpuaes_base64_encoded_size(by_gpu, line);
    }
    (void)encode_lines(c, out, in + head + by_gpu, groups - head - by_gpu);
    base64_done(&work, device, offered, by_gpu);
    for (in += groups, len -= groups; len != 0; len--)
        c->group[c->buffered++] = *in++;
    return 1;
}

size_t base64_encode_end(struct base64_codec *c, unsigned char *out)
{
    size_t written = 0;
    if (c->buffered != 0) {
        encode_group(out, c->group, c->buffered);
        written = 4;
    }
    if (c->format.line_length != 0 && c->column + written != 0)
        out[written++] = '\n';
    c->buffered = 0;
    c->column = 0;
    return written;
}
