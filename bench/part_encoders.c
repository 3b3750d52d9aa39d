/*
 * Base64 of 1 to 36 MiB as work of 2011 to 2013 compared it: an encoder that is written
 * plainly, a GPU with synchronous copies of pageable memory, a GPU with pinned memory
 * and several streams, which is libgpuaes here, and the platform's library.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/offload.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

enum way { PLAIN, SYNCHRONOUS, ASYNCHRONOUS, ASYNCHRONOUS_PINNED, WAYS };

static const struct {
    const char *operation, *processor;
    enum kind kind;
} ways[WAYS] = {{"encode, plain", "cpu", PAGEABLE},
                {"encode, synchronous", "gpu", PAGEABLE},
                {"encode, asynchronous", "gpu", PAGEABLE},
                {"encode, asynchronous", "gpu", PINNED}};

struct encoders {
    struct offload offload;
    const unsigned char *in;
    unsigned char *out;
    size_t length;
    enum way way;
};

/* As one would write it who thinks of nothing but the standard. `length`: whole groups. */
static void encode_plainly(unsigned char *out, const unsigned char *in, size_t length)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        *out++ = (unsigned char)alphabet[in[i] >> 2];
        *out++ = (unsigned char)alphabet[(in[i] & 3) << 4 | in[i + 1] >> 4];
        *out++ = (unsigned char)alphabet[(in[i + 1] & 15) << 2 | in[i + 2] >> 6];
        *out++ = (unsigned char)alphabet[in[i + 2] & 63];
    }
}

static void encode(int side, void *argument)
{
    struct encoders *e = argument;
    if (side == REFERENCE)
        EVP_EncodeBlock(e->out, e->in, (int)e->length);
    else if (e->way == PLAIN)
        encode_plainly(e->out, e->in, e->length);
    else if (e->way == SYNCHRONOUS)
        offload_run(&e->offload);
    else if (gpuaes_base64_encode(e->in, e->length, e->out, 0, GPUAES_WAIT) != GPUAES_OK) {
        (void)fprintf(stderr, "gpuaes_bench: gpuaes_base64_encode: %s\n", gpuaes_reason());
        exit(EXIT_FAILURE);
    }
}

static void encoder_row(struct encoders *e)
{
    struct row row = {.part = "encoders",
                      .cipher = "BASE64",
                      .operation = ways[e->way].operation,
                      .bytes = e->length,
                      .memory = kind_name(ways[e->way].kind),
                      .placement = "out of place",
                      .processor = ways[e->way].processor,
                      .against = of_openssl("EVP_EncodeBlock")};
    e->offload.in = e->in;
    e->offload.out = e->out;
    e->offload.length = e->length;
    struct result result = measure(31, encode, e);
    /* Of the last turn. */
    encode(OURS, e);
    offload_check(&e->offload);
    print_times(&row, &result, 1, "ms", 1e3);
}

int part_encoders(void)
{
    static const size_t lengths[] = {1, 12, 24, 36};
    size_t unit = options.quick ? 3 * KIB : MIB, most = 36 * unit;
    struct encoders e = {.length = 0};
    warm_up();
    int device = offload_open(&e.offload, most, "encoders");
    e.offload.streams = 1;
    e.offload.synchronous = 1;
    for (e.way = PLAIN; e.way < (device ? WAYS : SYNCHRONOUS); e.way++) {
        struct buffer in = buffer_take(ways[e.way].kind, most),
                      out = buffer_take(ways[e.way].kind, base64_characters(most) + 1);
        e.in = in.p;
        e.out = out.p;
        if (in.p == NULL || out.p == NULL)
            print_skipped("encoders", "%s memory: %s", kind_name(ways[e.way].kind), no_device());
        else
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                e.length = lengths[i] * unit / 3 * 3;
                encoder_row(&e);
            }
        buffer_give(&in);
        buffer_give(&out);
    }
    if (device)
        offload_close(&e.offload);
    return 0;
}
