/*
 * What CBC decryption needs of its input and may overwrite: see arguments.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

static __device__ __forceinline__ aes_state first_iv(const aes_arguments &a)
{
    if (a.iv_at != 0)
        return to_state(*reinterpret_cast<const uint4 *>(a.iv_at));
    return {a.iv[0], a.iv[1], a.iv[2], a.iv[3]};
}

extern "C" __global__ void cbc_chain(const __grid_constant__ aes_arguments a)
{
    uint64_t entries = (a.blocks + AES_CHUNK - 1) / AES_CHUNK + 1;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t n = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; n < entries;
         n += stride) {
        /* One thread reads the IV and then writes what may lie in its place. */
        aes_state s =
            n == 0 ? first_iv(a) : load_block(a.in, a.blocks, min(n * AES_CHUNK, a.blocks) - 1);
        store_block(a.chain, n, s);
        if (n == 0 && a.next != 0)
            store_block(a.next, 0, load_block(a.in, a.blocks, a.blocks - 1));
    }
}
KERNEL(cbc_chain)
