/*
 * Time, medians, cores, and two sides that take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_MEASURE_H
#define GPUAES_BENCH_MEASURE_H

#include <stddef.h>

enum { OURS, REFERENCE, SIDES, MOST_TURNS = 1001 };

/* Seconds since some moment; of the clock, and of all CPUs for this process. */
double now(void);
double cpu_now(void);

/* Those that this process may use. */
unsigned cores_allowed(void);

/* The value that is `at` (0 to 1) of the way from the least to the most. Sorts. */
double quantile(double *values, size_t count, double at);

/* What one side does in one turn. */
typedef void measured_fn(int side, void *argument);

struct result {
    size_t turns;
    double median[SIDES], late[SIDES]; /* seconds of one turn; late: 99 % are not later */
    double cpu[SIDES];                 /* CPU seconds of one turn, the mean */
    double spread; /* distance of the quartiles of ours / reference, as a part of its median;
                      of a side alone, of its time */
};

/*
 * One turn each to warm up, then `most` turns each, fewer (but three) once the
 * time for one row is spent. Who goes first changes from turn to turn.
 */
struct result measure(size_t most, measured_fn *measured, void *argument);

/* The same with OURS alone. */
struct result measure_alone(size_t most, measured_fn *measured, void *argument);

/* Adds CPU seconds that another process spent for the turn that is being measured. */
void measure_add_cpu(double seconds);

/*
 * Rests for so long before each turn from now on; 0: not at all. A card at its power
 * cap would else do a turn the slower, the more the turn before it took.
 */
void measure_rest(double seconds);

/* Turns of OURS one after the other for so long; the mean of their times. */
double measure_sustained(double seconds, measured_fn *measured, void *argument);

#endif
