/*
 * Two sides that take turns at the same work.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/turns.h"

#include <stdlib.h>

#include "base/clock.h"

static void take(const struct turns *turns, int side, double *seconds)
{
    if (turns->before != NULL)
        turns->before(side, turns->argument);
    double began = clock_seconds(CLOCK_MONOTONIC);
    turns->turn(side, turns->argument);
    *seconds = clock_seconds(CLOCK_MONOTONIC) - began;
    if (turns->after != NULL)
        turns->after(side, turns->argument);
}

void turns_take(struct turns *turns)
{
    for (int side = 0; side < turns->sides; side++)
        turns->turn(side, turns->argument);
    double deadline = clock_seconds(CLOCK_MONOTONIC) + turns->limit;
    size_t i = 0;
    for (; i < turns->most && (i < LEAST_TURNS || clock_seconds(CLOCK_MONOTONIC) < deadline); i++)
        for (int turn = 0; turn < turns->sides; turn++) {
            int side = (turn + (int)i) % turns->sides;
            take(turns, side, &turns->seconds[side][i]);
        }
    turns->count = i;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, size_t count, double at)
{
    qsort(values, count, sizeof *values, compare);
    return values[(size_t)(at * (double)(count - 1) + 0.5)];
}
