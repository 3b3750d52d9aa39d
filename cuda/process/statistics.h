/*
 * Counters of libgpuaes: process-wide, lock-free.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_STATISTICS_H
#define GPUAES_CUDA_PROCESS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* The members of struct gpuaes_statistics of gpuaes.h, in their order. */
enum statistic {
    STATISTIC_BYTES,
    STATISTIC_READ_AHEAD,
    STATISTIC_UNDERRUNS,
    STATISTIC_LAUNCHES,
    STATISTIC_FAULTS,
    STATISTIC_START_MS,
    STATISTIC_PINNED,
    STATISTIC_PINNED_PEAK,
    STATISTICS
};

/* With 1, leaves the calling thread's work (samples) out of the counts until called with 0. Faults
 * count all the same. */
void statistics_leave_out(int leave_out);

/* Adds `n`. */
void statistics_count(enum statistic statistic, uint64_t n);
void statistics_set_start_ms(uint64_t ms);

/* Pinned memory taken and given back; taking fails (0) where it would pass the cap. */
int statistics_take_pinned(size_t bytes, size_t cap);
void statistics_give_pinned(size_t bytes);

/* Everything to zero: in a forked child. */
void statistics_reset(void);

#endif
