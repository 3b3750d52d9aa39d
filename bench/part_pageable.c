/*
 * One update in pageable memory by as many threads as `threads=auto` gives it, compared with one
 * thread; 4 MiB to 1 GiB. Memory that is used again and again, memory that the caller has just
 * touched for the first time, and output that has not been touched yet. Then several callers at
 * once. The setting holds for a process, so processes take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "bench/buffers.h"
#include "bench/crew.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"
#include "bench/team.h"

enum { CALLERS = 8, MOST_CELLS = 128 };

enum touched { REUSED, FRESH, UNTOUCHED, TOUCHED_KINDS };
static const char *const memory_names[TOUCHED_KINDS] = {"pageable", "pageable, fresh",
                                                        "pageable, output untouched"};

struct cell {
    size_t length;
    const struct mode_row *mode;
    int in_place;
    enum touched memory;
    unsigned callers;
};

/* The same in all processes. */
static struct cell cells[MOST_CELLS];
static int cell_count;

static void add_cells(size_t length, enum touched memory, unsigned callers)
{
    static const enum mode_number modes[] = {MODE_CTR, MODE_ECB_ENCRYPT, MODE_CBC_DECRYPT};
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
        for (enum touched memory = REUSED; memory < TOUCHED_KINDS; memory++)
            add_cells(length, memory, 1);
    add_cells(longest() / 16, REUSED, CALLERS);
}

/* ---- What each process does ---------------------------------------------------------- */

/* Orders: to be ready, which says how many threads there are for a large update; a turn of a cell.
 */
enum { BE_READY, RUN_CELL };

static struct station {
    struct memory memory;
    struct team team;
    struct pair pair[CALLERS];
} station;

static int be_ready(void)
{
    struct gpuaes_settings settings;
    warm_up();
    if (gpuaes_state() != GPUAES_READY || !gpuaes_get_settings(&settings) ||
        !memory_take(&station.memory, "pageable", PAGEABLE, longest(), longest()))
        return 0;
    team_open(&station.team, CALLERS);
    return (int)settings.threads;
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

static void run_pair(unsigned number, void *argument)
{
    (void)argument;
    pair_updates(OURS, &station.pair[number]);
}

static void run_cell(const struct cell *cell, struct reply *reply)
{
    unsigned char *in = station.memory.in.p, *out = cell->in_place ? in : station.memory.out.p;
    if (cell->memory != REUSED) {
        in = map(cell->length, 1);
        out = cell->in_place ? in : map(cell->length, cell->memory == FRESH);
    }
    if (in == NULL || out == NULL)
        return;
    for (unsigned i = 0; i < cell->callers; i++) {
        station.pair[i] = (struct pair){.length = cell->length, .calls = 1};
        pair_open(&station.pair[i], mode_cipher(cell->mode, 256), cell->mode->encrypt);
        pair_memory(&station.pair[i], in + i * cell->length, out + i * cell->length);
    }
    double began = now(), cpu = cpu_now();
    if (cell->callers == 1)
        run_pair(0, NULL);
    else
        team_run(&station.team, run_pair, NULL);
    *reply = (struct reply){1, now() - began, cpu_now() - cpu};
    for (unsigned i = 0; i < cell->callers; i++)
        pair_close(&station.pair[i]);
    if (cell->memory != REUSED && !cell->in_place)
        (void)munmap(out, cell->length);
    if (cell->memory != REUSED)
        (void)munmap(in, cell->length);
}

static void work(int order, struct reply *reply)
{
    if (order == BE_READY)
        reply->done = be_ready();
    else
        run_cell(&cells[order - RUN_CELL], reply);
}

/* ---- Rows ---------------------------------------------------------------------------- */

static void cell_row(struct crew *crew, int number, const char *setting, unsigned threads)
{
    const struct cell *cell = &cells[number];
    char operation[64];
    struct row row = {.part = "pageable",
                      .cipher = mode_cipher(cell->mode, 256),
                      .operation = operation,
                      .bytes = cell->length,
                      .memory = memory_names[cell->memory],
                      .placement = cell->in_place ? "in place" : "out of place",
                      .threads = threads,
                      .processor = "gpu",
                      .against = "threads=1"};
    (void)snprintf(operation, sizeof operation, "%s, threads=%s%s", direction(cell->mode->encrypt),
                   setting, cell->callers > 1 ? ", 8 callers" : "");
    crew->order = RUN_CELL + number;
    struct result result = measure(21, crew_turn, crew);
    if (!crew->failed)
        print_rates(&row, &result, (double)cell->length * cell->callers);
}

/* Of all cells, or of those with updates up to `most` in memory that is reused. */
static int crew_rows(const char *setting, size_t most)
{
    struct crew crew;
    const char *const settings[SIDES] = {setting, "1"};
    if (!crew_start(&crew, "GPUAES_THREADS", settings, work))
        return EXIT_FAILURE;
    unsigned threads = (unsigned)crew_order(&crew, OURS, BE_READY);
    if (threads == 0 || crew_order(&crew, REFERENCE, BE_READY) != 1)
        print_skipped("pageable", "no device was started, or there is too little memory");
    else
        for (int i = 0; i < cell_count && !crew.failed; i++)
            if (most == longest() ||
                (cells[i].length <= most && cells[i].memory == REUSED && cells[i].callers == 1))
                cell_row(&crew, i, setting, threads);
    return crew_end(&crew);
}

/* A number of threads cuts what is short into smaller parts than `auto` does. */
int part_pageable(void)
{
    setenv("GPUAES_POLICY", "gpu", 1);
    make_cells();
    return crew_rows("4", 2 * shortest()) | crew_rows("auto", longest());
}
