/*
 * What the AES kernels must not do, for timing_test.c to be seen to notice it:
 * lookups in one table in shared memory that all lanes share, so that lanes wait
 * for each other as the data have it. It encrypts nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>

enum { ROUNDS = 10 };

extern "C" __global__ void leaky(const uint4 *in, uint4 *out, uint64_t blocks)
{
    __shared__ uint32_t table[256];
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;

    if (threadIdx.x < 256)
        table[threadIdx.x] = (threadIdx.x + 1) * 0x9e3779b1u;
    __syncthreads();
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < blocks;
         i += stride) {
        uint4 s = in[i];

        for (int round = 0; round < ROUNDS; round++) {
            uint4 t;
            t.x = table[s.x & 255] ^ table[s.y >> 8 & 255] ^ table[s.z >> 16 & 255] ^
                  table[s.w >> 24];
            t.y = table[s.y & 255] ^ table[s.z >> 8 & 255] ^ table[s.w >> 16 & 255] ^
                  table[s.x >> 24];
            t.z = table[s.z & 255] ^ table[s.w >> 8 & 255] ^ table[s.x >> 16 & 255] ^
                  table[s.y >> 24];
            t.w = table[s.w & 255] ^ table[s.x >> 8 & 255] ^ table[s.y >> 16 & 255] ^
                  table[s.z >> 24];
            s = t;
        }
        out[i] = s;
    }
}
