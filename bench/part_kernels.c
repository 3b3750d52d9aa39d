/*
 * AES in device memory by the public API: each mode, direction and key size, out of place,
 * in place and misaligned, in bursts and sustained; and each family of kernels
 * where it is forced.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct beside_copy {
    struct device_memory *memory;
    struct call call;
};

static void beside_copy(int side, void *argument)
{
    struct beside_copy *b = argument;
    if (side == OURS)
        call_run(&b->call);
    else
        device_memory_copy(b->memory, b->call.length);
}

static size_t turns_for(size_t length)
{
    return length >= 256 * MIB ? 15 : 51;
}

struct kernel_case {
    const struct mode_row *mode;
    unsigned bits;
    size_t length;
    int in_place;
};

static struct row kernel_row(const struct kernel_case *k, char cipher[32])
{
    (void)snprintf(cipher, 32, "AES-%u-%s", k->bits, k->mode->mode);
    return (struct row){.part = "kernels",
                        .cipher = cipher,
                        .operation = direction(k->mode->encrypt),
                        .bytes = k->length,
                        .memory = "device",
                        .placement = k->in_place ? "in place" : "out of place",
                        .processor = "gpu"};
}

static struct beside_copy kernel_call(struct device_memory *m, const struct kernel_case *k)
{
    struct beside_copy b = {.memory = m, .call = call_make(k->mode->op, k->bits)};
    b.call.length = k->length;
    b.call.in = m->in;
    b.call.out = k->in_place ? m->in : m->out;
    return b;
}

static void burst_row(struct device_memory *m, const struct kernel_case *k, const char *family)
{
    char cipher[32];
    struct row row = kernel_row(k, cipher);
    struct beside_copy b = kernel_call(m, k);
    measure_rest(k->length >= GIB ? 0.02 : 0);
    struct result result = measure(turns_for(k->length), beside_copy, &b);
    measure_rest(0);
    row.against = "device copy";
    if (family != NULL) {
        row.part = "families";
        row.processor = family;
    }
    print_rates(&row, &result, (double)k->length);
}

static void sustained_row(struct device_memory *m, const struct kernel_case *k)
{
    char cipher[32];
    struct row row = kernel_row(k, cipher);
    struct beside_copy b = kernel_call(m, k);
    double each = measure_sustained(options.quick ? 0.01 : 2, beside_copy, &b);
    row.statistic = "sustained";
    row.unit = "GB/s";
    row.value[OURS] = (double)k->length / each / 1e9;
    print_row(&row);
}

/* Sustained, for the largest memory. */
static void sustained_rows(struct device_memory *m)
{
    struct kernel_case k = {.length = m->bytes};
    for (k.bits = 128; k.bits <= 256; k.bits += 128)
        for (size_t i = 0; i < MODE_ROWS; i++) {
            k.mode = &mode_rows[i];
            if (k.bits == 256 || k.mode->encrypt)
                sustained_row(m, &k);
        }
}

static void burst_rows(struct device_memory *m)
{
    struct kernel_case k = {.length = 64 * KIB};
    for (; k.length <= m->bytes; k.length *= 4)
        for (size_t i = 0; i < MODE_ROWS; i++)
            for (k.bits = 128; k.bits <= 256; k.bits += 64)
                for (k.in_place = 0; k.in_place < 2; k.in_place++) {
                    k.mode = &mode_rows[i];
                    burst_row(m, &k, NULL);
                }
}

/* ---- Alignment ---------------------------------------------------------------- */

struct aligned {
    struct call call[SIDES];
};

static void beside_aligned(int side, void *argument)
{
    struct aligned *a = argument;
    call_run(&a->call[side]);
}

static void misaligned_rows(struct device_memory *m)
{
    struct kernel_case k = {.bits = 256, .length = m->bytes < GIB ? m->bytes : GIB};
    for (size_t i = 0; i < MODE_ROWS; i++) {
        char cipher[32];
        k.mode = &mode_rows[i];
        struct row row = kernel_row(&k, cipher);
        struct aligned a;
        a.call[OURS] = a.call[REFERENCE] = kernel_call(m, &k).call;
        a.call[OURS].in += 1;
        a.call[OURS].out += 3;
        struct result result = measure(15, beside_aligned, &a);
        row.placement = "misaligned";
        row.against = "aligned";
        print_rates(&row, &result, (double)k.length);
    }
}

int part_kernels(void)
{
    struct device_memory m;
    warm_up();
    if (!device_memory_open(&m, options.quick ? 64 * KIB : 4 * GIB, "kernels"))
        return 0;
    burst_rows(&m);
    misaligned_rows(&m);
    sustained_rows(&m);
    device_memory_close(&m);
    return 0;
}

/* ---- Families ------------------------------------------------------------------ */

/* GPUAES_KERNEL stands in the environment. */
int part_families(void)
{
    struct device_memory m;
    const char *family = getenv("GPUAES_KERNEL");
    warm_up();
    if (!device_memory_open(&m, options.quick ? 64 * KIB : 4 * GIB, "families"))
        return 0;
    struct kernel_case k = {.bits = 256, .length = 64 * KIB};
    for (; k.length <= m.bytes; k.length *= 4)
        for (size_t i = 0; i < MODE_ROWS; i++) {
            k.mode = &mode_rows[i];
            burst_row(&m, &k, family);
        }
    device_memory_close(&m);
    return 0;
}
