/*
 * What loading the module takes: time, and resident memory. Another program,
 * load_provider, does it in a fresh process.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

enum { FIGURES = 4 };

static double values[FIGURES][SIDES][MOST_TURNS];

/* One run of the program for a side; 1 if it ended well. */
static int load_once(int side, size_t turn)
{
    char command[4096];
    (void)snprintf(command, sizeof command, "'" LOAD_PROVIDER "' %s",
                   side == OURS && !stand_in() ? "gpuaes" : "default");
    FILE *program = popen(command, "r"); /* NOLINT(bugprone-command-processor): our own path */
    int found = 0;
    for (int f = 0; program != NULL && f < FIGURES; f++)
        found += fscanf(program, "%lf", &values[f][side][turn]);
    return program != NULL && pclose(program) == 0 && found == FIGURES;
}

int part_load(void)
{
    static const struct {
        const char *operation, *unit;
    } figures[FIGURES] = {{"first load", "ms"},
                          {"load and unload, again", "ms"},
                          {"resident memory", "KiB"},
                          {"resident memory, in use", "KiB"}};
    size_t turns = options.quick ? 3 : 41;
    for (size_t i = 0; i < turns; i++)
        for (int side = 0; side < SIDES; side++)
            if (!load_once(side, i)) {
                (void)fprintf(stderr, "gpuaes_bench: %s failed\n", LOAD_PROVIDER);
                return EXIT_FAILURE;
            }
    for (int f = 0; f < FIGURES; f++) {
        struct row row = {.part = "load",
                          .operation = figures[f].operation,
                          .statistic = "median",
                          .value = {quantile(values[f][OURS], turns, 0.5),
                                    quantile(values[f][REFERENCE], turns, 0.5)},
                          .unit = figures[f].unit,
                          .against = of_openssl("default provider")};
        print_row(&row);
    }
    return 0;
}
