/*
 * AES and Base64 in device memory by the public API. AES: each mode, direction and key size, out of
 * place, in place and misaligned, in bursts and sustained; and each family of kernels where it is
 * forced. Base64: rates are of the bytes that the text stands for.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

struct kernel_case {
    const struct memory *memory;
    const struct mode_row *mode;
    unsigned bits;
    size_t length;
    int in_place;
    struct call call[SIDES]; /* the reference's: a copy where its length is 0 */
};

static void turn(int side, void *argument)
{
    struct kernel_case *k = argument;
    if (k->call[side].length != 0)
        call_run(side, &k->call[side]);
    else
        device_memory_copy(k->memory, k->length);
}

/* Sets the calls as well. */
static struct row kernel_row(struct kernel_case *k, const char *part, const char *processor)
{
    const struct memory *m = k->memory;
    struct row row = aes_row(part, k->mode, k->bits, "device", k->length);
    k->call[OURS] =
        call_make(k->mode->op, k->bits, m->in.p, k->in_place ? m->in.p : m->out.p, k->length);
    k->call[REFERENCE].length = 0;
    row.placement = k->in_place ? "in place" : row.placement;
    row.processor = processor;
    row.against = "device copy";
    return row;
}

static void burst_row(struct kernel_case *k, const char *family)
{
    struct row row =
        family != NULL ? kernel_row(k, "families", family) : kernel_row(k, "kernels", "gpu");
    measure_rest(k->length >= GIB ? 0.02 : 0);
    measure_rates(&row, k->length >= 256 * MIB ? 15 : 51, turn, k, (double)k->length);
    measure_rest(0);
}

static void sustained_row(struct kernel_case *k)
{
    struct row row = kernel_row(k, "kernels", "gpu");
    double each = measure_sustained(options.quick ? 0.01 : 2, turn, k);
    row.statistic = "sustained";
    row.unit = "GB/s";
    row.against = NULL;
    row.value[OURS] = (double)k->length / each / 1e9;
    print_row(&row);
}

static void misaligned_row(struct kernel_case *k)
{
    struct row row = kernel_row(k, "kernels", "gpu");
    k->call[REFERENCE] = k->call[OURS];
    k->call[OURS].in += 1;
    k->call[OURS].out += 3;
    row.placement = "misaligned";
    row.against = "aligned";
    measure_rates(&row, 15, turn, k, (double)k->length);
}

/* Rows at 64 KiB and so on, of key sizes from `least` bits on; at the last length in place as well,
   and of 192 bits, if `all`. */
static void burst_rows(struct kernel_case *k, unsigned least, int all, const char *family)
{
    for (k->length = 64 * KIB; k->length <= k->memory->in.bytes; k->length *= 4) {
        int last = k->length * 4 > k->memory->in.bytes, most = all && last;
        for (k->mode = mode_rows; k->mode < mode_rows + PARALLEL_MODES; k->mode++)
            for (k->bits = least; k->bits <= 256; k->bits += last ? 64 : 128)
                for (k->in_place = 0; k->in_place <= most; k->in_place++)
                    burst_row(k, family);
    }
    k->in_place = 0;
}

int part_kernels(void)
{
    struct memory m;
    struct kernel_case k = {.memory = &m};
    if (!device_memory_take(&m, "kernels", options.quick ? 64 * KIB : 4 * GIB))
        return 0;
    burst_rows(&k, 128, 1, NULL);
    k.bits = 256;
    k.length = m.in.bytes < GIB ? m.in.bytes : GIB;
    for (k.mode = mode_rows; k.mode < mode_rows + PARALLEL_MODES; k.mode++)
        misaligned_row(&k);
    k.length = m.in.bytes;
    for (k.bits = 128; k.bits <= 256; k.bits += 128)
        for (k.mode = mode_rows; k.mode < mode_rows + PARALLEL_MODES; k.mode++)
            if (k.bits == 256 || k.mode->encrypt)
                sustained_row(&k);
    memory_give(&m);
    return 0;
}

/* GPUAES_KERNEL stands in the environment. */
int part_families(void)
{
    struct memory m;
    struct kernel_case k = {.memory = &m};
    if (!device_memory_take(&m, "families", options.quick ? 64 * KIB : 4 * GIB))
        return 0;
    burst_rows(&k, 256, 0, getenv("GPUAES_KERNEL"));
    memory_give(&m);
    return 0;
}

/* ---- Base64 ----------------------------------------------------------------------------- */

struct base64_case {
    const char *operation;
    size_t line_length;
    int decode;
    const struct memory *memory;
    size_t length;
};

/* From the first buffer to the second, as the copy. */
static void base64_turn(int side, void *argument)
{
    const struct base64_case *b = argument;
    const struct memory *m = b->memory;
    size_t offset;
    if (side == REFERENCE)
        device_memory_copy(m, b->length);
    else if (b->decode)
        call_check(gpuaes_base64_decode(m->in.p, gpuaes_base64_encoded_size(b->length, 0), m->out.p,
                                        GPUAES_WAIT, &offset),
                   "gpuaes_base64_decode");
    else
        call_check(gpuaes_base64_encode(m->in.p, b->length, m->out.p, b->line_length, GPUAES_WAIT),
                   "gpuaes_base64_encode");
}

int part_base64_kernels(void)
{
    static const struct base64_case cases[] = {{"encode", 0, 0, NULL, 0},
                                               {"encode, lines of 64", 64, 0, NULL, 0},
                                               {"encode, lines of 76", 76, 0, NULL, 0},
                                               {"decode", 0, 1, NULL, 0}};
    struct memory m;
    if (!device_memory_take(&m, "base64-kernels", options.quick ? 256 * KIB : 4 * GIB))
        return 0;
    /* Text in lines is a third longer, and a 64th of that. */
    size_t most = m.in.bytes / 96 * 69, least = options.quick ? most : MIB / 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t length = most; length >= least; length = length / 12 * 3) {
            struct base64_case b = cases[i];
            b.memory = &m;
            b.length = length;
            if (b.decode)
                call_check(gpuaes_base64_encode(m.out.p, length, m.in.p, 0, GPUAES_WAIT),
                           "gpuaes_base64_encode");
            struct row row = row_of("base64-kernels", "BASE64", b.operation, "device", length);
            row.processor = "gpu";
            row.against = "device copy";
            measure_rates(&row, 31, base64_turn, &b, (double)length);
        }
    memory_give(&m);
    return 0;
}
