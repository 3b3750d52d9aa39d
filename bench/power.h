/*
 * The power that a device takes, sampled by nvidia-smi while something runs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_POWER_H
#define GPUAES_BENCH_POWER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct power {
    FILE *samples; /* a line each, in watts */
    pthread_t thread;
    atomic_int stop;
    unsigned count;
    double least, most, sum; /* watts, over the samples */
};

/* Begins to sample the first device, in a thread of its own until power_end(). */
void power_begin(struct power *power);

/* Returns 1, or 0 where there are no samples. */
int power_end(struct power *power);

#endif
