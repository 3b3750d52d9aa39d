/*
 * Kernels that reach a limit of the device: see limits.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/limits.h"

enum { LIMIT_ROWS = 256, LIMIT_BANKS = 32 };

extern "C" __global__ void limit_nothing(const __grid_constant__ struct limit_arguments arguments)
{
}

extern "C" __global__ void __launch_bounds__(1024)
    limit_shared_port(const __grid_constant__ struct limit_arguments arguments)
{
    __shared__ uint32_t words[LIMIT_ROWS * LIMIT_BANKS];
    /* Volatile: every load is made, though nothing uses its result. */
    const volatile uint32_t *bank = words + threadIdx.x % LIMIT_BANKS;

    for (uint32_t i = threadIdx.x; i < LIMIT_ROWS * LIMIT_BANKS; i += blockDim.x)
        words[i] = i;
    __syncthreads();
    for (uint32_t round = 0; round < arguments.rounds; round++)
#pragma unroll
        for (uint32_t i = 0; i < LIMIT_LOADS; i++)
            (void)bank[i * LIMIT_BANKS * (LIMIT_ROWS / LIMIT_LOADS)];
}
