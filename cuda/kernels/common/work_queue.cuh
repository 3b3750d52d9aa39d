/*
 * One queue for two kinds of warps of different speed: chunks 0 to `chunks` - 1,
 * which table warps take from the front and bitsliced warps from the back, until
 * they meet. So nothing has to know how fast either kind is.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_WORK_QUEUE_CUH
#define GPUAES_KERNELS_WORK_QUEUE_CUH

#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

struct work_queue {
    unsigned long long *taken; /* from the front; from the back, 32 bits higher */
    uint32_t chunks;
    uint32_t warps; /* that take from it: none takes more than its part of what is left */
};

struct chunk_span {
    uint32_t begin, end;
};

/*
 * Takes up to `most` chunks for the caller's converged warp; none (begin == end)
 * when all are taken.
 */
template <bool BACK>
static __device__ __forceinline__ chunk_span take_chunks(const work_queue &queue, uint32_t most)
{
    unsigned long long old = 0;
    uint32_t size = 0;
    if (threadIdx.x % LANES == 0) {
        unsigned long long now = *static_cast<volatile unsigned long long *>(queue.taken);
        uint64_t used = (now & 0xffffffff) + (now >> 32);
        uint32_t left = used < queue.chunks ? queue.chunks - static_cast<uint32_t>(used) : 0;
        size = max(1u, min(most, left / queue.warps));
        old = atomicAdd(queue.taken, static_cast<unsigned long long>(size) << (BACK ? 32 : 0));
    }
    old = __shfl_sync(ALL_LANES, old, 0);
    size = __shfl_sync(ALL_LANES, size, 0);
    uint32_t front = static_cast<uint32_t>(old), back = static_cast<uint32_t>(old >> 32);
    if (static_cast<uint64_t>(front) + back >= queue.chunks)
        return {0, 0};
    uint32_t end = queue.chunks - back;
    size = min(size, end - front);
    return BACK ? chunk_span{end - size, end} : chunk_span{front, front + size};
}

#endif
