/*
 * Base64 in device memory by the public API, beside a copy of the same bytes.
 * Rates are of the bytes that the text stands for.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct base64_case {
    struct device_memory *memory;
    size_t length, line_length;
    int decode;
};

/* From the first buffer to the second, as the copy. */
static void base64_beside_copy(int side, void *argument)
{
    const struct base64_case *b = argument;
    struct device_memory *m = b->memory;
    enum gpuaes_status status;
    size_t offset;
    if (side == REFERENCE) {
        device_memory_copy(m, b->length);
        return;
    }
    if (b->decode)
        status = gpuaes_base64_decode(m->in, gpuaes_base64_encoded_size(b->length, 0), m->out,
                                      GPUAES_WAIT, &offset);
    else
        status = gpuaes_base64_encode(m->in, b->length, m->out, b->line_length, GPUAES_WAIT);
    if (status != GPUAES_OK) {
        (void)fprintf(stderr, "gpuaes_bench: Base64 in device memory: %s\n",
                      gpuaes_status_text(status));
        exit(EXIT_FAILURE);
    }
}

static void base64_row(const struct base64_case *b, const char *operation)
{
    struct base64_case argument = *b;
    struct row row = {.part = "base64-kernels",
                      .cipher = "BASE64",
                      .operation = operation,
                      .bytes = b->length,
                      .memory = "device",
                      .placement = "out of place",
                      .processor = "gpu",
                      .against = "device copy"};
    struct result result = measure(31, base64_beside_copy, &argument);
    print_rates(&row, &result, (double)b->length);
}

static void encode_rows(struct device_memory *m, size_t least, size_t most)
{
    struct base64_case b = {.memory = m};
    for (b.length = most; b.length >= least; b.length = b.length / 12 * 3) {
        b.line_length = 0;
        base64_row(&b, "encode");
        b.line_length = 64;
        base64_row(&b, "encode, lines of 64");
        b.line_length = 76;
        base64_row(&b, "encode, lines of 76");
    }
}

static void decode_rows(struct device_memory *m, size_t least, size_t most)
{
    struct base64_case b = {.memory = m, .decode = 1};
    for (b.length = most; b.length >= least; b.length = b.length / 12 * 3) {
        if (gpuaes_base64_encode(m->out, b.length, m->in, 0, GPUAES_WAIT) != GPUAES_OK)
            exit(EXIT_FAILURE);
        base64_row(&b, "decode");
    }
}

int part_base64_kernels(void)
{
    struct device_memory m;
    warm_up();
    if (!device_memory_open(&m, options.quick ? 256 * KIB : 4 * GIB, "base64-kernels"))
        return 0;
    /* Text in lines is a third longer, and a 64th of that. */
    size_t most = m.bytes / 96 * 69, least = options.quick ? most : MIB / 2;
    encode_rows(&m, least, most);
    decode_rows(&m, least, most);
    device_memory_close(&m);
    return 0;
}
