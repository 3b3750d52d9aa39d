/*
 * Counters of libgpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/process/statistics.h"

#include <stdatomic.h>
#include <string.h>

#include "cuda/gpuaes.h"
#include "cuda/process/struct_bytes.h"

static _Atomic uint64_t totals[STATISTICS];

static _Thread_local int left_out;

void statistics_leave_out(int leave_out)
{
    left_out = leave_out;
}

void statistics_count(enum statistic statistic, uint64_t n)
{
    if (!left_out || statistic == STATISTIC_FAULTS)
        atomic_fetch_add_explicit(&totals[statistic], n, memory_order_relaxed);
}

void statistics_set_start_ms(uint64_t ms)
{
    /* Zero means "never started". */
    atomic_store(&totals[STATISTIC_START_MS], ms == 0 ? 1 : ms);
}

int statistics_take_pinned(size_t bytes, size_t cap)
{
    _Atomic uint64_t *pinned = &totals[STATISTIC_PINNED], *most = &totals[STATISTIC_PINNED_PEAK];
    uint64_t now = atomic_load(pinned);
    do {
        if (bytes > cap || now > cap - bytes)
            return 0;
    } while (!atomic_compare_exchange_weak(pinned, &now, now + bytes));

    uint64_t peak = atomic_load(most);
    while (peak < now + bytes && !atomic_compare_exchange_weak(most, &peak, now + bytes))
        ;
    return 1;
}

void statistics_give_pinned(size_t bytes)
{
    atomic_fetch_sub(&totals[STATISTIC_PINNED], bytes);
}

void statistics_reset(void)
{
    for (int i = 0; i < STATISTICS; i++)
        atomic_store(&totals[i], 0);
}

int gpuaes_get_statistics(struct gpuaes_statistics *statistics)
{
    enum { FIRST = offsetof(struct gpuaes_statistics, bytes) };
    struct gpuaes_statistics is = {0};
    uint64_t values[STATISTICS];
    _Static_assert(sizeof is == FIRST + sizeof values, "enum statistic has all members");
    for (int i = 0; i < STATISTICS; i++)
        values[i] = atomic_load(&totals[i]);
    memcpy((unsigned char *)&is + FIRST, values, sizeof values);
    return struct_give(statistics, &is, sizeof is);
}
