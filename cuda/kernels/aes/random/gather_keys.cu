/*
 * Keys that the application has in device memory, as the kernel that expands them reads them. See
 * arguments.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/intrinsics.cuh"

extern "C" __global__ void __launch_bounds__(256)
    device_keys_gather(const __grid_constant__ device_keys_arguments a)
{
    uint32_t stride = gridDim.x * blockDim.x;
    uint32_t each = a.pairs != 0 ? 2 : 1;
    for (uint32_t n = blockIdx.x * blockDim.x + threadIdx.x; n < a.count * each; n += stride) {
        bool is_second = n >= a.count;
        uint64_t place = is_second ? (n - a.count) * uint64_t{2} + 1 : uint64_t{n} * each;
        const unsigned char *from =
            reinterpret_cast<const unsigned char *>(a.from) + place * a.words * 4;
        aes_batch_key *key = reinterpret_cast<aes_batch_key *>(a.keys) + n;
        for (uint32_t w = 0; w < a.words; w++, from += 4)
            key->words[w] = from[0] | static_cast<uint32_t>(from[1]) << 8 |
                            static_cast<uint32_t>(from[2]) << 16 |
                            static_cast<uint32_t>(from[3]) << 24;
        key->rounds = a.words + 6;
        key->decrypts = is_second ? 0 : a.decrypts;
    }
}
KERNEL(device_keys_gather)
