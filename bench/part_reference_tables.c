/*
 * Memory for tables, as published work measured it: AES in CTR mode with its tables in each kind of
 * memory over the size of the data, without transfers and with them; our families of kernels at the
 * same sizes; and bare 32-bit reads, five thousand million of all threads together.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/reference_run.h"
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

/* The rows of one kernel. */
struct bench {
    struct reference card;
    struct memory memory, host;
    unsigned char *expected;
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

static size_t turns_for(size_t length)
{
    return length >= 64 * MIB ? 7 : 21;
}

/* ---- Published kernels ------------------------------------------------------------- */

static void versus_gpuaes(int side, void *argument)
{
    struct bench *b = argument;
    size_t length = b->call.length;
    if (side == REFERENCE) {
        call_run(side, &b->call);
        return;
    }
    if (b->transfers)
        card_up(b->memory.in.p, b->host.in.p, length, b->card.stream);
    reference_ctr_run(&b->card, &b->ctr, b->shape, length);
    if (b->transfers)
        card_down(b->host.out.p, b->memory.out.p, length, b->card.stream);
    card_wait(b->card.stream);
}

static void size_rows(struct bench *b, const struct table *table)
{
    enum { LONGEST_MS = 30 }; /* larger sizes would take too long, and change nothing any more */
    char operation[64];
    const struct memory *m = b->transfers ? &b->host : &b->memory;
    struct row row = row_of("tables", mode_cipher(&mode_rows[MODE_CTR], b->bits), operation,
                            kind_name(m->in.kind), 0);
    row.processor = "gpu";
    row.against = "gpuaes_aes";
    (void)snprintf(operation, sizeof operation, "%s%s", table->operation,
                   b->shape == RESIDENT ? ", resident" : "");
    for (size_t length = 4 * KIB; length <= b->memory.in.bytes; length = next_size(length)) {
        b->call = call_make(GPUAES_CTR, b->bits, m->in.p, m->out.p, length);
        row.bytes = length;
        struct result result =
            measure_rates(&row, turns_for(length), versus_gpuaes, b, (double)length);
        if (!options.quick && result.median[OURS] * 1e3 > LONGEST_MS)
            break;
    }
}

/* The kernel's first `length` bytes are right, and it writes none beyond. */
static void check(struct bench *b, const struct table *table, size_t length)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    size_t beyond = length < b->memory.in.bytes ? GPUAES_BLOCK : 0;
    card_zero(b->memory.out.p, length + beyond, b->card.stream);
    reference_ctr_run(&b->card, &b->ctr, b->shape, length);
    card_down(b->host.out.p, b->memory.out.p, length + beyond, b->card.stream);
    card_wait(b->card.stream);
    reference_compare(table->name, b->host.out.p, b->expected, length);
    reference_compare(table->name, b->host.out.p + length, zeros, beyond);
}

static void table_rows(struct bench *b, const struct table *table)
{
    reference_ctr_open(&b->card, &b->ctr, table->name, b->bits, table->shared, b->memory.in.p,
                       b->memory.out.p);
    b->transfers = 0;
    for (b->shape = A_THREAD_A_BLOCK; b->shape < REFERENCE_SHAPES; b->shape++) {
        check(b, table, 4 * KIB + 3 * GPUAES_BLOCK);
        check(b, table, b->memory.in.bytes);
        size_rows(b, table);
    }
    b->shape = A_THREAD_A_BLOCK;
    b->transfers = 1;
    size_rows(b, table);
}

int part_reference_tables(void)
{
    struct bench b = {.bits = 128};
    if (!device_memory_take(&b.memory, "tables", options.quick ? 64 * KIB : GIB) ||
        !reference_open(&b.card, "tables"))
        return 0;
    size_t most = b.memory.in.bytes;
    struct buffer expected = buffer_take(PAGEABLE, most);
    if (expected.p != NULL && memory_take(&b.host, "tables", PINNED, most, most)) {
        b.expected = expected.p;
        card_up(b.memory.in.p, b.host.in.p, most, b.card.stream);
        card_wait(b.card.stream);
        for (; b.bits <= 256; b.bits += 128) {
            reference_ctr_expect(b.bits, b.expected, b.host.in.p, most);
            for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
                table_rows(&b, &tables[i]);
        }
        memory_give(&b.host);
    }
    buffer_give(&expected);
    memory_give(&b.memory);
    reference_close(&b.card);
    return 0;
}

/* ---- Our families ------------------------------------------------------------------ */

/* GPUAES_KERNEL stands in the environment. */
int part_reference_families(void)
{
    struct memory m;
    char operation[32];
    const char *family = getenv("GPUAES_KERNEL");
    if (!device_memory_take(&m, "tables", options.quick ? 64 * KIB : GIB))
        return 0;
    (void)snprintf(operation, sizeof operation, "gpuaes, %s", family);
    for (unsigned bits = 128; bits <= 256; bits += 128)
        for (size_t length = 4 * KIB; length <= m.in.bytes; length = next_size(length)) {
            struct call call = call_make(GPUAES_CTR, bits, m.in.p, m.out.p, length);
            struct row row = row_of("tables", mode_cipher(&mode_rows[MODE_CTR], bits), operation,
                                    "device", length);
            row.processor = family;
            measure_rates(&row, turns_for(length), call_run, &call, (double)length);
        }
    memory_give(&m);
    return 0;
}

/* ---- Bare reads ---------------------------------------------------------------------- */

/* The words of the table; copies of it in shared memory, 0: it is not there. */
struct reads {
    const char *memory, *kernel;
    unsigned words, copies;
    int coherent;
};

struct reader {
    struct reference card;
    struct launch launch;
    struct reference_reads_arguments arguments;
    uint32_t threads, *result; /* of the grid, and what they found */
    unsigned char *out;        /* which is there on the device */
};

static void reads_turn(int side, void *argument)
{
    const struct reader *b = argument;
    (void)side;
    card_launch(&b->launch, b->card.stream);
    card_wait(b->card.stream);
}

/* Where the ways of each thread end is known without going them. */
static void check_reads(const struct reader *b, const struct reads *r)
{
    size_t bytes = b->threads * sizeof *b->result;
    card_zero(b->out, bytes, b->card.stream);
    card_launch(&b->launch, b->card.stream);
    card_down(b->result, b->out, bytes, b->card.stream);
    card_wait(b->card.stream);
    for (uint32_t thread = 0; thread < b->threads; thread++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < REFERENCE_CHAINS; i++)
            sum += reference_word(
                reference_start(thread, i, b->arguments.coherent) + b->arguments.steps, r->words);
        reference_compare(r->kernel, &b->result[thread], &sum, sizeof sum);
    }
}

static void read_row(struct reader *b, const struct reads *r)
{
    char kernel[64];
    (void)snprintf(kernel, sizeof kernel, "reference_reads_%s_%u", r->kernel, r->words);
    b->launch.function = reference_function(&b->card, kernel);
    b->launch.arguments = &b->arguments;
    b->launch.shared = r->words * 4 * r->copies;
    b->arguments.coherent = (unsigned)r->coherent;
    check_reads(b, r);
    struct result result = measure_alone(15, reads_turn, b);
    double words = (double)b->threads * REFERENCE_CHAINS * b->arguments.steps;
    struct row row = {.part = "reads",
                      .operation = r->copies > 1 ? "random, a bank a lane"
                                   : r->coherent ? "coherent"
                                                 : "random",
                      .statistic = "median",
                      .bytes = (size_t)r->words * 4,
                      .memory = r->memory,
                      .value = {words / result.median[OURS] / 1e9, 0},
                      .unit = "Gword/s",
                      .spread = result.spread,
                      .processor = "gpu"};
    print_row(&row);
}

int part_reference_reads(void)
{
    enum { BANKS = 32 };
    static const struct reads memories[] = {{"constant", "constant", 0, 0, 0},
                                            {"shared", "shared", 0, 1, 0},
                                            {"read-only", "read_only", 0, 0, 0}};
    static const struct reads own_bank = {"shared", "own_bank", 256, BANKS, 0};
    struct reader b = {.result = NULL};
    double reads = options.quick ? 1e5 : 5e9;
    warm_up();
    if (!reference_open(&b.card, "reads"))
        return 0;
    /* Few of the largest blocks fill a multiprocessor, so that tables are filled seldom. */
    b.launch.threads = b.card.most_threads;
    b.launch.grid = b.card.multiprocessors * (b.card.threads / b.launch.threads);
    b.threads = b.launch.grid * b.launch.threads;
    b.arguments.steps =
        (uint32_t)(reads / (b.threads * (REFERENCE_CHAINS * REFERENCE_UNROLL)) + 1) *
        REFERENCE_UNROLL;
    b.result = malloc(b.threads * sizeof *b.result);
    struct buffer out = buffer_take(DEVICE, b.threads * sizeof *b.result);
    if (b.result == NULL || out.p == NULL)
        exit(EXIT_FAILURE);
    b.out = out.p;
    b.arguments.out = card_address(out.p);
    for (int coherent = 1; coherent >= 0; coherent--)
        for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++)
            for (unsigned words = 256; words <= 1024; words *= 4) {
                struct reads r = memories[i];
                r.words = words;
                r.coherent = coherent;
                read_row(&b, &r);
            }
    read_row(&b, &own_bank);
    buffer_give(&out);
    free(b.result);
    reference_close(&b.card);
    return 0;
}
