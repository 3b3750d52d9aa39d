/*
 * Carry-less products by themselves: as kernels of GCM have them, and as they have them on GPUs
 * without the instruction. Each thread takes one pair of factors.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/common/intrinsics.cuh"

extern "C" __global__ void test_carryless(const uint64_t *factors, uint64_t *products)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
    const uint64_t a = factors[2 * i], b = factors[2 * i + 1];
    products[2 * i] = clmad_low(a, b, 0);
    products[2 * i + 1] = clmad_high(a, b, 0);
    products[2 * (count + i)] = product_low(a, b);
    products[2 * (count + i) + 1] = product_high(a, b);
}
KERNEL(test_carryless)
