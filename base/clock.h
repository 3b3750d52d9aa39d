/*
 * Clocks as numbers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CLOCK_H
#define GPUAES_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of a clock, such as CLOCK_MONOTONIC, in nanoseconds. */
static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The same in seconds. */
static inline double clock_seconds(clockid_t clock)
{
    return (double)clock_ns(clock) * 1e-9;
}

/* Returns the nanoseconds from `begun`, a time of CLOCK_MONOTONIC, until now. */
static inline double clock_ns_since(int64_t begun)
{
    return (double)(clock_ns(CLOCK_MONOTONIC) - begun);
}

/* Converts nanoseconds, 0 or more, for a call that waits. */
static inline struct timespec clock_timespec(int64_t ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

#endif
