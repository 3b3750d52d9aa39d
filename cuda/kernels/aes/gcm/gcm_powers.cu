/*
 * Powers of the hash key of GCM, which its hybrid kernels read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/gcm/gcm_hash.cuh"

extern "C" __global__ void __launch_bounds__(GHASH_POWERS)
    ghash_powers(const __grid_constant__ ghash_powers_arguments g)
{
#pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < g.levels * GHASH_POWERS;
         i += gridDim.x * blockDim.x) {
        uint32_t number = i % GHASH_POWERS;
        ghash_element base = load_element(g.base[i / GHASH_POWERS]), power = ghash_one();
#pragma unroll 1
        for (uint32_t bit = 1; bit < GHASH_POWERS; bit *= 2) {
            ghash_element with = multiply(power, base);
            power = (number & bit) != 0 ? with : power;
            base = multiply(base, base);
        }
        reinterpret_cast<uint4 *>(g.powers)[i] = to_words(power);
    }
}
KERNEL(ghash_powers)
