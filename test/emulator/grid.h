/*
 * Running a grid of device threads on one host thread.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_GRID_H
#define GPUAES_EMULATOR_GRID_H

#include "test/emulator/device.h"

namespace emulator
{

enum {
    STATIC_SHARED_LIMIT = 48 * 1024,
    SHARED_LIMIT = 227 * 1024 /* compute capability 9.0 */
};

struct launch {
    const char *name;
    uint3 grid, block;
    unsigned shared_bytes;
    thread_function thread;
};

/*
 * Runs block after block, in any order; the threads of a block are fibers that
 * are resumed in random order. Aborts with a sentence on stderr if threads
 * wait for each other for ever or write beyond dynamic shared memory.
 */
void run_grid(const launch &work);

/* True for stacks and shared memory of device threads. */
bool is_inside_device(const void *p);

struct kernel {
    const char *name;
    size_t parameter_count;
    bind_function bind;
};

/* The kernel that KERNEL() made known, or NULL. */
const kernel *find_kernel(const char *name);

} // namespace emulator

#endif
