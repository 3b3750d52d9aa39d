/*
 * Kernels that reach a limit of the device. The emulator has none: its figures mean nothing.
 *
 * extern "C" void limit_nothing(const struct limit_arguments): the least time of a launch.
 * extern "C" void limit_shared_port(const struct limit_arguments)
 * Each thread loads LIMIT_LOADS words a round from shared memory, each lane of a
 * warp out of its own bank, as the lookups of the AES kernels do. Best: two blocks
 * of 1024 threads a multiprocessor, no dynamic shared memory, some thousand rounds.
 *
 * Included by C host code and by nvcc: plain types only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_LIMITS_H
#define GPUAES_BENCH_LIMITS_H

#include <stdint.h>

enum { LIMIT_LOADS = 64 };
struct limit_arguments {
    uint32_t rounds;
};

#endif
