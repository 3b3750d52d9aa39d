/*
 * One update in pageable memory by as many threads as `threads=auto` gives it, beside one thread;
 * 4 MiB to 1 GiB. Memory that is used again and again, that the caller has just touched for the
 * first time, and output that nobody has touched yet. Then several callers at once. The setting
 * holds for a process, so processes take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"
#include "bench/worker.h"

enum { CALLERS = 8, MOST_CELLS = 128, MOST_PAGEABLE_TURNS = 21 };

enum memory { REUSED, FRESH, UNTOUCHED, MEMORIES };
static const char *const memory_names[MEMORIES] = {"pageable", "pageable, fresh",
                                                   "pageable, output untouched"};

struct cell {
    size_t length;
    const struct mode_row *mode;
    int in_place;
    enum memory memory;
    unsigned callers;
};

/* The same in all processes. */
static struct cell cells[MOST_CELLS];
static int cell_count;

static void add_cells(size_t length, enum memory memory, unsigned callers)
{
    static const size_t modes[] = {0, 1, 3}; /* of mode_rows: CTR, ECB encryption, CBC decryption */
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
        for (int in_place = 0; in_place < 2; in_place++)
            if (memory != UNTOUCHED || (m == 0 && !in_place))
                cells[cell_count++] =
                    (struct cell){length, &mode_rows[modes[m]], in_place, memory, callers};
}

static size_t shortest(void)
{
    return options.quick ? 64 * KIB : 4 * MIB;
}

static size_t longest(void)
{
    return options.quick ? 256 * KIB : GIB;
}

static void make_cells(void)
{
    for (size_t length = shortest(); length <= longest(); length *= length < 16 * MIB ? 2 : 4)
        for (int memory = REUSED; memory < MEMORIES; memory++)
            add_cells(length, (enum memory)memory, 1);
    add_cells(longest() / 16, REUSED, CALLERS);
}

/* ---- What a worker does ------------------------------------------------------------ */

/* Orders: to be ready, which says how many threads there are for a large update; a turn of a cell.
 */
enum { BE_READY, RUN_CELL };

struct station {
    struct buffer in, out;
    struct pair pair[CALLERS];
    double *seconds; /* of the last turn; the process that gives orders reads it */
};

static int be_ready(struct station *s)
{
    struct gpuaes_settings settings;
    warm_up();
    s->in = buffer_take(PAGEABLE, longest());
    s->out = buffer_take(PAGEABLE, longest());
    return gpuaes_state() == GPUAES_READY && s->in.p != NULL && s->out.p != NULL &&
                   gpuaes_get_settings(&settings)
               ? (int)settings.threads
               : 0;
}

static unsigned char *map(size_t bytes, int touched)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (touched)
        memset(p, 0x5a, bytes);
    return p;
}

static void *run_pair(void *pair)
{
    pair_updates(OURS, pair);
    return NULL;
}

static double run_callers(struct station *s, unsigned callers)
{
    pthread_t threads[CALLERS];
    int started[CALLERS] = {0};
    double began = now();
    for (unsigned i = 1; i < callers; i++)
        started[i] = pthread_create(&threads[i], NULL, run_pair, &s->pair[i]) == 0;
    pair_updates(OURS, &s->pair[0]);
    for (unsigned i = 1; i < callers; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            pair_updates(OURS, &s->pair[i]);
    return now() - began;
}

static int run_cell(struct station *s, const struct cell *cell)
{
    unsigned char *in = s->in.p, *out = cell->in_place ? in : s->out.p;
    char cipher[32];
    (void)snprintf(cipher, sizeof cipher, "AES-256-%s", cell->mode->mode);
    if (cell->memory != REUSED) {
        in = map(cell->length, 1);
        out = cell->in_place ? in : map(cell->length, cell->memory == FRESH);
    }
    if (in == NULL || out == NULL)
        return 0;
    for (unsigned i = 0; i < cell->callers; i++) {
        s->pair[i] = (struct pair){.length = cell->length, .calls = 1};
        pair_open(&s->pair[i], cipher, cell->mode->encrypt);
        pair_memory(&s->pair[i], in + i * cell->length, out + i * cell->length);
    }
    *s->seconds = run_callers(s, cell->callers);
    for (unsigned i = 0; i < cell->callers; i++)
        pair_close(&s->pair[i]);
    if (cell->memory != REUSED && !cell->in_place)
        (void)munmap(out, cell->length);
    if (cell->memory != REUSED)
        (void)munmap(in, cell->length);
    return 1;
}

static int work(int order, void *argument)
{
    return order == BE_READY ? be_ready(argument) : run_cell(argument, &cells[order - RUN_CELL]);
}

/* ---- Rows ---------------------------------------------------------------------------- */

struct crew {
    const char *setting; /* of ours; the reference has one thread */
    struct worker worker[SIDES];
    struct station station[SIDES]; /* each worker's own, after the fork */
    unsigned threads;
};

static int take_turn(const struct crew *crew, int side, int cell, double *seconds, double *cpu)
{
    int done = worker_order(&crew->worker[side], RUN_CELL + cell, cpu) != 0;
    *seconds = *crew->station[side].seconds;
    return done;
}

/* The worker's own time, since it makes the memory for each turn. */
static int measure_cell(const struct crew *crew, int cell, struct result *result)
{
    static double seconds[SIDES][MOST_PAGEABLE_TURNS], ratios[MOST_PAGEABLE_TURNS];
    double deadline = now() + options.seconds;
    size_t most = options.quick ? LEAST_TURNS : MOST_PAGEABLE_TURNS, i = 0;
    double unused;
    *result = (struct result){0};
    for (int side = 0; side < SIDES && cells[cell].memory == REUSED; side++)
        if (!take_turn(crew, side, cell, &unused, &unused)) /* to warm up */
            return 0;
    for (; i < most && (i < LEAST_TURNS || now() < deadline); i++) {
        for (int turn = 0; turn < SIDES; turn++) {
            int side = (turn + (int)i) % SIDES;
            double cpu = 0;
            if (!take_turn(crew, side, cell, &seconds[side][i], &cpu))
                return 0;
            result->cpu[side] += cells[cell].memory == REUSED ? cpu : 0;
        }
        ratios[i] = seconds[OURS][i] / seconds[REFERENCE][i];
    }
    result->turns = i;
    for (int side = 0; side < SIDES; side++) {
        result->median[side] = quantile(seconds[side], i, 0.5);
        result->cpu[side] /= (double)i;
    }
    result->spread =
        (quantile(ratios, i, 0.75) - quantile(ratios, i, 0.25)) / quantile(ratios, i, 0.5);
    return 1;
}

static int print_cell(const struct crew *crew, int number)
{
    const struct cell *cell = &cells[number];
    struct result result;
    char cipher[32], operation[64];
    struct row row = {.part = "pageable",
                      .cipher = cipher,
                      .operation = operation,
                      .bytes = cell->length,
                      .memory = memory_names[cell->memory],
                      .placement = cell->in_place ? "in place" : "out of place",
                      .threads = crew->threads,
                      .processor = "gpu",
                      .against = "threads=1"};
    (void)snprintf(cipher, sizeof cipher, "AES-256-%s", cell->mode->mode);
    (void)snprintf(operation, sizeof operation, "%s, threads=%s%s", direction(cell->mode->encrypt),
                   crew->setting, cell->callers > 1 ? ", 8 callers" : "");
    if (!measure_cell(crew, number, &result))
        return 0;
    print_rates(&row, &result, (double)cell->length * cell->callers);
    return 1;
}

/* Of all cells, or of those with updates up to `most` in memory that is reused. */
static int crew_rows(const char *setting, size_t most)
{
    struct crew crew = {.setting = setting};
    int failed = 0;
    double *seconds = mmap(NULL, SIDES * sizeof *seconds, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int side = 0; side < SIDES; side++) {
        crew.station[side].seconds = &seconds[side];
        if (seconds == MAP_FAILED ||
            !worker_start(&crew.worker[side], "GPUAES_THREADS", side == OURS ? setting : "1", work,
                          &crew.station[side]))
            return EXIT_FAILURE;
    }
    crew.threads = (unsigned)worker_order(&crew.worker[OURS], BE_READY, NULL);
    if (crew.threads == 0 || worker_order(&crew.worker[REFERENCE], BE_READY, NULL) != 1)
        print_skipped("pageable", "no device was started, or there is too little memory");
    else
        for (int i = 0; i < cell_count && !failed; i++)
            if (most == longest() ||
                (cells[i].length <= most && cells[i].memory == REUSED && cells[i].callers == 1))
                failed = !print_cell(&crew, i);
    return (worker_end(&crew.worker[OURS]) | worker_end(&crew.worker[REFERENCE])) != 0 || failed;
}

/* A number of threads cuts what is short into smaller parts than `auto` does. */
int part_pageable(void)
{
    setenv("GPUAES_POLICY", "gpu", 1);
    make_cells();
    return crew_rows("4", 2 * shortest()) | crew_rows("auto", longest());
}
