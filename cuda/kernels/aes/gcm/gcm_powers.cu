/*
 * Powers of the hash key of GCM, which its kernels read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/gcm/gcm_hash.cuh"

extern "C" __global__ void __launch_bounds__(GHASH_POWERS)
    ghash_powers(const __grid_constant__ ghash_arguments g)
{
#pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < g.levels * GHASH_POWERS;
         i += gridDim.x * blockDim.x) {
        uint32_t number = i % GHASH_POWERS, level = i / GHASH_POWERS;
        ghash_element base = step(g, 1), power = step(g, 0);
#pragma unroll 1
        for (uint32_t bit = 0; bit < 8 * level; bit++)
            base = multiply(base, base);
#pragma unroll 1
        for (uint32_t bit = GHASH_POWERS / 2; bit != 0; bit /= 2) {
            power = multiply(power, power);
            ghash_element with = multiply(power, base);
            power = (number & bit) != 0 ? with : power;
        }
        reinterpret_cast<uint4 *>(g.powers)[i] =
            make_uint4(static_cast<uint32_t>(power.low), static_cast<uint32_t>(power.low >> 32),
                       static_cast<uint32_t>(power.high), static_cast<uint32_t>(power.high >> 32));
        if (i == 0)
            *reinterpret_cast<ghash_total *>(g.total) = {};
    }
}
KERNEL(ghash_powers)
