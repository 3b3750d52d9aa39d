/*
 * Time, cores, and what turns of one or two sides took.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_MEASURE_H
#define GPUAES_BENCH_MEASURE_H

#include <stddef.h>

#include "tool/common/turns.h"

/* Seconds since some moment; of the clock, and of all CPUs for this process. */
double now(void);
double cpu_now(void);

/* Those that this process may use. */
unsigned cores_allowed(void);

struct result {
    size_t turns;
    double median[SIDES], late[SIDES]; /* seconds of one turn; late: 99 % are not later */
    double cpu[SIDES];                 /* CPU seconds of one turn, the mean */
    double spread; /* distance of the quartiles of ours / reference, as a part of its median;
                      of a side alone, of its time */
};

/* Takes turns (see turns_take()) until the time for one row is spent. */
struct result measure(size_t most, turn_fn *measured, void *argument);

/* The same with OURS alone. */
struct result measure_alone(size_t most, turn_fn *measured, void *argument);

/* Counts CPU seconds of another process for the turn under way. */
void measure_elsewhere(double cpu);

/*
 * Rests for so long before each turn from now on; 0: not at all. A card at its power
 * cap would else do a turn the slower, the more the turn before it took.
 */
void measure_rest(double seconds);

/* Turns of OURS one after the other for so long; the mean of their times. */
double measure_sustained(double seconds, turn_fn *measured, void *argument);

#endif
