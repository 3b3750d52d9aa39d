/*
 * Rows of the hybrid kernels in buffers of any alignment, inside: neither the
 * first nor the last block of the buffer is in them, so that whole granules of 16
 * aligned bytes can be read at both ends of a row.
 *
 * A lane loads one granule, and takes of the next lane's the words it needs.
 * Stores put blocks together in the same way; lane 0 has both ends of a row, the
 * last bytes of lane 31's block and the first of its own. They wait in shared
 * memory until the eight rows of a chunk are done, and then 32 lanes write a byte
 * each.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_HYBRID_INSIDE_CUH
#define GPUAES_KERNELS_HYBRID_INSIDE_CUH

#include "cuda/kernels/common/blocks.cuh"

enum { CHUNK_ROWS = 8 };

/* The granule that the lane's block of row `first` begins in. */
static __device__ __forceinline__ uint4 *granule_of(uint64_t base, uint64_t first)
{
    return reinterpret_cast<uint4 *>(base & ~static_cast<uint64_t>(15)) + first +
           threadIdx.x % LANES;
}

static __device__ __forceinline__ aes_state load_granule(uint64_t base, uint64_t first)
{
    return to_state(__ldcs(granule_of(base, first)));
}

/* ---- Loads ------------------------------------------------------------------ */

/* The granule of lane `from`, as much of it as blocks at `offset` have. */
static __device__ __forceinline__ aes_state first_words(aes_state granule, uint32_t offset,
                                                        uint32_t lane)
{
    int from = static_cast<int>(lane);
    aes_state s = {__shfl_sync(ALL_LANES, granule.c0, from), 0, 0, 0};
    if (offset > 4)
        s.c1 = __shfl_sync(ALL_LANES, granule.c1, from);
    if (offset > 8)
        s.c2 = __shfl_sync(ALL_LANES, granule.c2, from);
    if (offset > 12)
        s.c3 = __shfl_sync(ALL_LANES, granule.c3, from);
    return s;
}

/* The lane's block, whose end is in the next lane's granule; lane 31's is in `beyond`. */
static __device__ __forceinline__ aes_state join_granules(aes_state granule, aes_state beyond,
                                                          uint32_t offset)
{
    if (offset == 0)
        return granule;
    uint32_t lane = threadIdx.x % LANES;
    aes_state next = first_words(granule, offset, (lane + 1) % LANES);
    return window(granule, lane == LANES - 1 ? beyond : next, offset);
}

/*
 * The same for rows that follow each other, from the last to the first: lane 31's
 * `beyond` is what the row after this one began with.
 */
static __device__ __forceinline__ aes_state join_row(aes_state granule, aes_state &beyond,
                                                     uint32_t offset)
{
    if (offset == 0)
        return granule;
    uint32_t lane = threadIdx.x % LANES;
    aes_state next = first_words(granule, offset, (lane + 1) % LANES);
    aes_state s = window(granule, lane == LANES - 1 ? beyond : next, offset);
    beyond = next;
    return s;
}

/* Block `i`, loaded without the other lanes. */
static __device__ __forceinline__ aes_state load_inside(uint64_t base, uint64_t i)
{
    const uint4 *granule = reinterpret_cast<const uint4 *>(base & ~static_cast<uint64_t>(15)) + i;
    return window(to_state(granule[0]), to_state(granule[1]), base & 15);
}

/* ---- Stores ----------------------------------------------------------------- */

/* Both ends of the row are left in `ends`. */
static __device__ __forceinline__ void store_inside(uint64_t base, uint64_t first, aes_state s,
                                                    uint4 *ends)
{
    uint32_t lane = threadIdx.x % LANES, offset = base & 15;
    uint4 *granule = granule_of(base, first);
    if (offset == 0) {
        __stcs(granule, to_vector(s));
        return;
    }
    int from = static_cast<int>((lane - 1) % LANES);
    aes_state before = {0, 0, 0, __shfl_sync(ALL_LANES, s.c3, from)};
    if (offset > 4)
        before.c2 = __shfl_sync(ALL_LANES, s.c2, from);
    if (offset > 8)
        before.c1 = __shfl_sync(ALL_LANES, s.c1, from);
    if (offset > 12)
        before.c0 = __shfl_sync(ALL_LANES, s.c0, from);
    s = window(before, s, 16 - offset);
    if (lane != 0)
        __stcs(granule, to_vector(s));
    else
        *ends = to_vector(s);
}

/* Writes what the rows `first` + STEP * j of a chunk have left in ends[j]. */
template <uint32_t STEP>
static __device__ __forceinline__ void store_ends_of_rows(uint64_t base, uint64_t first,
                                                          const uint4 *ends)
{
    uint32_t lane = threadIdx.x % LANES, offset = base & 15;
    if (offset == 0)
        return;
    uint32_t at = lane % 16;
    const unsigned char *from = reinterpret_cast<const unsigned char *>(ends) + lane;
    unsigned char *to = reinterpret_cast<unsigned char *>(base - offset) +
                        (first + lane / 16 * STEP + (at < offset ? LANES : 0)) * 16 + at;
    __syncwarp();
#pragma unroll
    for (uint32_t j = 0; j < CHUNK_ROWS; j += 2)
        to[j * STEP * 16] = from[j * 16];
    __syncwarp();
}

#endif
