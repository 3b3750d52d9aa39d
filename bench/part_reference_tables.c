/*
 * AES in CTR mode with its tables in each kind of memory, as published work had it,
 * over the size of the data, without transfers and with them; and our families of
 * kernels at the same sizes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/api.h"
#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/reference_run.h"
#include "bench/rows.h"
#include "bench/sides.h"

static const struct table {
    const char *operation, *name;
    unsigned shared;
} tables[] = {
    {"constant, 1 table", "constant_1", 0},
    {"constant, 4 tables", "constant_4", 0},
    {"read-only, 1 table", "read_only_1", 0},
    {"read-only, 4 tables", "read_only_4", 0},
    {"shared, 1 table", "shared_1", REFERENCE_TABLE},
    {"shared, 4 tables", "shared_4", 4 * REFERENCE_TABLE},
    {"shared, 1 table x 16", "shared_1x16", 16 * REFERENCE_TABLE},
    {"shared, 1 table x 32", "shared_1x32", 32 * REFERENCE_TABLE},
};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* The rows of one kernel. */
struct bench {
    struct reference card;
    struct device_memory memory;
    struct buffer in, out, expected; /* of the host */
    unsigned bits;
    struct reference_ctr ctr;
    enum reference_shape shape;
    int transfers;
    struct call call; /* the library's; its length is that of both */
};

static size_t next_size(size_t length)
{
    return length * (options.quick ? 16 : 4);
}

/* Larger sizes would take too long, and change nothing any more. */
static int is_slow(const struct result *result)
{
    enum { LONGEST_MS = 30 };
    return !options.quick && result->median[OURS] * 1e3 > LONGEST_MS;
}

static size_t turns_for(size_t length)
{
    return length >= 64 * MIB ? 7 : 21;
}

/* ---- Published kernels ------------------------------------------------------------- */

static void beside_gpuaes(int side, void *argument)
{
    struct bench *b = argument;
    if (side == REFERENCE) {
        call_run(&b->call);
        return;
    }
    if (b->transfers)
        card_check(card()->memcpy_htod_async(card_address(b->memory.in), b->in.p, b->call.length,
                                             b->card.stream),
                   "cuMemcpyHtoDAsync");
    reference_ctr_run(&b->card, &b->ctr, b->shape, b->call.length);
    if (b->transfers)
        card_check(card()->memcpy_dtoh_async(b->out.p, card_address(b->memory.out), b->call.length,
                                             b->card.stream),
                   "cuMemcpyDtoHAsync");
    card_wait(b->card.stream);
}

static void size_rows(struct bench *b, const struct table *table)
{
    char cipher[32], operation[64];
    struct row row = {.part = "tables",
                      .cipher = cipher,
                      .operation = operation,
                      .memory = b->transfers ? "pinned" : "device",
                      .placement = "out of place",
                      .processor = "gpu",
                      .against = "gpuaes_aes"};
    (void)snprintf(cipher, sizeof cipher, "AES-%u-CTR", b->bits);
    (void)snprintf(operation, sizeof operation, "%s%s", table->operation,
                   b->shape == RESIDENT ? ", resident" : "");
    b->call = call_make(GPUAES_CTR, b->bits);
    b->call.in = b->transfers ? b->in.p : b->memory.in;
    b->call.out = b->transfers ? b->out.p : b->memory.out;
    for (size_t length = 4 * KIB; length <= b->memory.bytes; length = next_size(length)) {
        row.bytes = b->call.length = length;
        struct result result = measure(turns_for(length), beside_gpuaes, b);
        print_rates(&row, &result, (double)length);
        if (is_slow(&result))
            break;
    }
}

/* The kernel's first `length` bytes are right, and it writes none beyond. */
static void check(struct bench *b, const struct table *table, size_t length)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    size_t beyond = length < b->memory.bytes ? GPUAES_BLOCK : 0;
    card_check(
        card()->memset_d8_async(card_address(b->memory.out), 0, length + beyond, b->card.stream),
        "cuMemsetD8Async");
    reference_ctr_run(&b->card, &b->ctr, b->shape, length);
    card_check(card()->memcpy_dtoh_async(b->out.p, card_address(b->memory.out), length + beyond,
                                         b->card.stream),
               "cuMemcpyDtoHAsync");
    card_wait(b->card.stream);
    reference_compare(table->name, b->out.p, b->expected.p, length);
    reference_compare(table->name, b->out.p + length, zeros, beyond);
}

static void table_rows(struct bench *b, const struct table *table)
{
    reference_ctr_open(&b->card, &b->ctr, table->name, b->bits, table->shared);
    b->ctr.arguments.in = card_address(b->memory.in);
    b->ctr.arguments.out = card_address(b->memory.out);
    for (int shape = 0; shape < REFERENCE_SHAPES; shape++) {
        b->shape = (enum reference_shape)shape;
        check(b, table, 4 * KIB + 3 * GPUAES_BLOCK);
        check(b, table, b->memory.bytes);
        b->transfers = 0;
        size_rows(b, table);
    }
    b->shape = A_THREAD_A_BLOCK;
    b->transfers = 1;
    size_rows(b, table);
}

static int memory_open(struct bench *b)
{
    if (!device_memory_open(&b->memory, options.quick ? 64 * KIB : GIB, "tables"))
        return 0;
    b->in = buffer_take(PINNED, b->memory.bytes);
    b->out = buffer_take(PINNED, b->memory.bytes);
    b->expected = buffer_take(PAGEABLE, b->memory.bytes);
    if (b->in.p != NULL && b->out.p != NULL && b->expected.p != NULL)
        return 1;
    print_skipped("tables", "there is no pinned memory");
    return 0;
}

static void memory_close(struct bench *b)
{
    device_memory_close(&b->memory);
    buffer_give(&b->in);
    buffer_give(&b->out);
    buffer_give(&b->expected);
}

int part_reference_tables(void)
{
    struct bench b = {.bits = 128};
    warm_up();
    if (!reference_open(&b.card, "tables"))
        return 0;
    if (memory_open(&b)) {
        card_check(card()->memcpy_htod_async(card_address(b.memory.in), b.in.p, b.memory.bytes,
                                             b.card.stream),
                   "cuMemcpyHtoDAsync");
        card_wait(b.card.stream);
        for (; b.bits <= 256; b.bits += 128) {
            reference_ctr_expect(b.bits, b.expected.p, b.in.p, b.memory.bytes);
            for (size_t i = 0; i < TABLES; i++)
                table_rows(&b, &tables[i]);
        }
        memory_close(&b);
    }
    reference_close(&b.card);
    return 0;
}

/* ---- Our families ------------------------------------------------------------------ */

static void turn(int side, void *call)
{
    (void)side;
    call_run(call);
}

/* GPUAES_KERNEL stands in the environment. */
int part_reference_families(void)
{
    struct device_memory m;
    char cipher[32], operation[32];
    const char *family = getenv("GPUAES_KERNEL");
    struct row row = {.part = "tables",
                      .cipher = cipher,
                      .operation = operation,
                      .memory = "device",
                      .placement = "out of place",
                      .processor = family};
    warm_up();
    if (!device_memory_open(&m, options.quick ? 64 * KIB : GIB, "tables"))
        return 0;
    (void)snprintf(operation, sizeof operation, "gpuaes, %s", family);
    for (unsigned bits = 128; bits <= 256; bits += 128) {
        struct call call = call_make(GPUAES_CTR, bits);
        call.in = m.in;
        call.out = m.out;
        (void)snprintf(cipher, sizeof cipher, "AES-%u-CTR", bits);
        for (size_t length = 4 * KIB; length <= m.bytes; length = next_size(length)) {
            row.bytes = call.length = length;
            struct result result = measure_alone(turns_for(length), turn, &call);
            print_rates(&row, &result, (double)length);
        }
    }
    device_memory_close(&m);
    return 0;
}
