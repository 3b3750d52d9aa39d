/*
 * Kernels that reach a limit of the device: see limits.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/limits.h"

enum { ROWS = 256, BANKS = 32 };

extern "C" __global__ void __launch_bounds__(1024)
    limit_shared_port(const __grid_constant__ struct limit_shared_port_arguments arguments)
{
    __shared__ uint32_t words[ROWS * BANKS];
    /* Volatile: every load is made, though nobody wants its result. */
    const volatile uint32_t *bank = words + threadIdx.x % BANKS;

    for (uint32_t i = threadIdx.x; i < ROWS * BANKS; i += blockDim.x)
        words[i] = i;
    __syncthreads();
    for (uint32_t round = 0; round < arguments.rounds; round++)
#pragma unroll
        for (uint32_t i = 0; i < LIMIT_LOADS; i++)
            (void)bank[i * BANKS * (ROWS / LIMIT_LOADS)];
}

extern "C" __global__ void
limit_device_copy(const __grid_constant__ struct limit_device_copy_arguments arguments)
{
    const uint4 *in = reinterpret_cast<const uint4 *>(arguments.in);
    uint4 *out = reinterpret_cast<uint4 *>(arguments.out);
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;

    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < arguments.vectors; i += stride)
        out[i] = in[i];
}
