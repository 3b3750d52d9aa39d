/*
 * Bare 32-bit reads of constant, shared and read-only memory, as published work
 * measured them: five thousand million, of all threads together.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/options.h"
#include "bench/parts.h"
#include "bench/reference_run.h"
#include "bench/rows.h"
#include "bench/sides.h"

enum { BANKS = 32 };

static const struct reads {
    const char *operation, *memory, *kernel;
    unsigned words, copies; /* of the table; copies in shared memory, 0: it is not there */
    unsigned coherent;
} all[] = {
    {"coherent", "constant", "reference_reads_constant_256", 256, 0, 1},
    {"coherent", "constant", "reference_reads_constant_1024", 1024, 0, 1},
    {"coherent", "shared", "reference_reads_shared_256", 256, 1, 1},
    {"coherent", "shared", "reference_reads_shared_1024", 1024, 1, 1},
    {"coherent", "read-only", "reference_reads_read_only_256", 256, 0, 1},
    {"coherent", "read-only", "reference_reads_read_only_1024", 1024, 0, 1},
    {"random", "constant", "reference_reads_constant_256", 256, 0, 0},
    {"random", "constant", "reference_reads_constant_1024", 1024, 0, 0},
    {"random", "shared", "reference_reads_shared_256", 256, 1, 0},
    {"random", "shared", "reference_reads_shared_1024", 1024, 1, 0},
    {"random", "read-only", "reference_reads_read_only_256", 256, 0, 0},
    {"random", "read-only", "reference_reads_read_only_1024", 1024, 0, 0},
    {"random, a bank a lane", "shared", "reference_reads_own_bank_256", 256, BANKS, 0},
};
enum { READS = sizeof all / sizeof all[0] };

struct bench {
    struct reference card;
    struct reference_launch launch;
    struct reference_reads_arguments arguments;
    uint32_t threads, *result; /* of the grid, and what they found */
};

static void turn(int side, void *argument)
{
    const struct bench *b = argument;
    (void)side;
    reference_launch(&b->card, &b->launch);
    card_wait(b->card.stream);
}

/* Of one thread: where its ways end is known without going them. */
static uint32_t expected(const struct bench *b, const struct reads *r, uint32_t thread)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < REFERENCE_CHAINS; i++)
        sum +=
            reference_word(reference_start(thread, i, r->coherent) + b->arguments.steps, r->words);
    return sum;
}

static void check(const struct bench *b, const struct reads *r)
{
    size_t bytes = b->threads * sizeof *b->result;
    card_check(card()->memset_d8_async(b->arguments.out, 0xff, bytes, b->card.stream),
               "cuMemsetD8Async");
    reference_launch(&b->card, &b->launch);
    card_check(card()->memcpy_dtoh_async(b->result, b->arguments.out, bytes, b->card.stream),
               "cuMemcpyDtoHAsync");
    card_wait(b->card.stream);
    for (uint32_t i = 0; i < b->threads; i++) {
        uint32_t right = expected(b, r, i);
        reference_compare(r->kernel, &b->result[i], &right, sizeof right);
    }
}

static void read_row(struct bench *b, const struct reads *r)
{
    b->launch.function = reference_function(&b->card, r->kernel);
    b->launch.arguments = &b->arguments;
    b->launch.shared = r->words * 4 * r->copies;
    b->arguments.coherent = r->coherent;
    check(b, r);
    struct result result = measure_alone(15, turn, b);
    double words = (double)b->threads * REFERENCE_CHAINS * b->arguments.steps;
    struct row row = {.part = "reads",
                      .operation = r->operation,
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
    struct bench b = {.result = NULL};
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
    drv_ptr out = 0;
    card_check(card()->mem_alloc(&out, b.threads * sizeof *b.result), "cuMemAlloc");
    b.arguments.out = out;
    if (b.result == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < READS; i++)
        read_row(&b, &all[i]);
    card_check(card()->mem_free(out), "cuMemFree");
    free(b.result);
    reference_close(&b.card);
    return 0;
}
