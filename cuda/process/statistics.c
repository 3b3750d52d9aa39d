/*
 * Counters of libgpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/process/statistics.h"

#include <stdatomic.h>

#include "cuda/gpuaes.h"
#include "cuda/process/struct_bytes.h"

static struct {
    _Atomic uint64_t bytes, read_ahead, underruns, launches, faults, start_ms, pinned, pinned_peak;
} totals;

static _Thread_local int left_out;

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void add_work(_Atomic uint64_t *counter, uint64_t n)
{
    if (!left_out)
        add(counter, n);
}

void statistics_leave_out(int leave_out)
{
    left_out = leave_out;
}

void statistics_add_bytes(uint64_t bytes)
{
    add_work(&totals.bytes, bytes);
}

void statistics_add_read_ahead(uint64_t bytes)
{
    add_work(&totals.read_ahead, bytes);
}

void statistics_add_underrun(void)
{
    add_work(&totals.underruns, 1);
}

void statistics_add_launch(void)
{
    add_work(&totals.launches, 1);
}

void statistics_add_fault(void)
{
    add(&totals.faults, 1);
}

void statistics_set_start_ms(uint64_t ms)
{
    /* Zero means "never started". */
    atomic_store(&totals.start_ms, ms == 0 ? 1 : ms);
}

int statistics_take_pinned(size_t bytes, size_t cap)
{
    uint64_t now = atomic_load(&totals.pinned);
    do {
        if (bytes > cap || now > cap - bytes)
            return 0;
    } while (!atomic_compare_exchange_weak(&totals.pinned, &now, now + bytes));

    uint64_t peak = atomic_load(&totals.pinned_peak);
    while (peak < now + bytes &&
           !atomic_compare_exchange_weak(&totals.pinned_peak, &peak, now + bytes))
        ;
    return 1;
}

void statistics_give_pinned(size_t bytes)
{
    atomic_fetch_sub(&totals.pinned, bytes);
}

void statistics_reset(void)
{
    atomic_store(&totals.bytes, 0);
    atomic_store(&totals.read_ahead, 0);
    atomic_store(&totals.underruns, 0);
    atomic_store(&totals.launches, 0);
    atomic_store(&totals.faults, 0);
    atomic_store(&totals.start_ms, 0);
    atomic_store(&totals.pinned, 0);
    atomic_store(&totals.pinned_peak, 0);
}

int gpuaes_get_statistics(struct gpuaes_statistics *statistics)
{
    const struct gpuaes_statistics is = {.bytes = atomic_load(&totals.bytes),
                                         .read_ahead_bytes = atomic_load(&totals.read_ahead),
                                         .underruns = atomic_load(&totals.underruns),
                                         .launches = atomic_load(&totals.launches),
                                         .faults = atomic_load(&totals.faults),
                                         .start_ms = atomic_load(&totals.start_ms),
                                         .pinned_bytes = atomic_load(&totals.pinned),
                                         .pinned_peak = atomic_load(&totals.pinned_peak)};
    return struct_give(statistics, &is, sizeof is);
}
