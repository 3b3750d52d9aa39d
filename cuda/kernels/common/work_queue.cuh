/*
 * How the chunks of a launch are divided. Blocks get equal parts: on a GPU that does nothing else
 * they are equally fast. The warps of a block share a queue in its shared memory: table warps take
 * from the front and bitsliced warps from the back, until they meet. The rest of a part is for
 * table warps alone, as a bitsliced warp that began one more chunk would end after all others.
 *
 * A queue for all blocks, in device memory, took up to 5 us before each warp of a launch had its
 * first work, and 1.5 us each time later: thousands of warps wait for one word.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_WORK_QUEUE_CUH
#define GPUAES_KERNELS_WORK_QUEUE_CUH

#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

/* Chunks of a group, which follow each other; in CTR they share rounds 1 and 2. */
enum { GROUP_CHUNKS = 8 };

/* ---- The part of a block ------------------------------------------------------ */

/*
 * The chunks of a block, which have numbers of its own from 0 on. Whole groups are dealt to the
 * blocks in turn, so that all of them work in the same megabytes: with a stretch of the buffer
 * for each, 1 GiB takes 3 % longer. The chunks that are left are divided evenly.
 */
struct block_part {
    uint32_t chunks;
    uint32_t common; /* the first of them, for both kinds of warps; the others are the rest */
    uint32_t dealt;  /* the first of them, in whole groups */
    uint32_t behind; /* plus the number of a chunk that was not dealt: its number in the launch */
};

static __device__ __forceinline__ block_part part_of_block(uint32_t chunks)
{
    uint32_t dealt = chunks / GROUP_CHUNKS / gridDim.x * GROUP_CHUNKS;
    uint32_t left = chunks - dealt * gridDim.x; /* fewer than GROUP_CHUNKS a block */
    uint32_t begin = left * blockIdx.x / gridDim.x, end = left * (blockIdx.x + 1) / gridDim.x;
    /*
     * A rest of 24 to 31 chunks for 32 warps: what table warps do while a bitsliced one has a
     * chunk. Before it are whole groups, so that bitsliced warps, which take half of one, find them
     * whole.
     */
    uint32_t own = dealt + end - begin, rest = min(own, blockDim.x / LANES * 3 / 4);
    uint32_t common = (own - rest) / GROUP_CHUNKS * GROUP_CHUNKS;
    return {own, common, dealt, dealt * gridDim.x + begin - dealt};
}

/* Pieces of a block, PIECES of which are a chunk. */
struct piece_span {
    uint32_t begin, end;
};

/* Pieces of one group of the launch that follow each other, counted from the group's first. */
struct piece_run {
    uint32_t group, begin, end;
};

/* Removes the first run from `span`, which is not empty. */
template <uint32_t PIECES>
static __device__ __forceinline__ piece_run next_run(const block_part &part, piece_span &span)
{
    uint32_t own = span.begin / PIECES, chunk = own + part.behind;
    if (own < part.dealt)
        chunk = (own / GROUP_CHUNKS * gridDim.x + blockIdx.x) * GROUP_CHUNKS + own % GROUP_CHUNKS;
    uint32_t begin = chunk % GROUP_CHUNKS * PIECES + span.begin % PIECES;
    uint32_t end = min(begin + span.end - span.begin, GROUP_CHUNKS * PIECES);
    span.begin += end - begin;
    return {chunk / GROUP_CHUNKS, begin, end};
}

/* ---- The queue ---------------------------------------------------------------- */

/* In shared memory, all zero at first. */
struct work_queue {
    unsigned long long taken; /* chunks from the front; from the back, 32 bits higher */
    uint32_t rest_taken;      /* pieces */
};
static_assert(sizeof(work_queue) == AES_HYBRID_QUEUE_SHARED, "caches of warps follow");

/*
 * Takes up to `most` chunks for the caller's converged warp, none (begin == end) when all but the
 * rest are taken. Near the end a table warp takes its part of what is left, and a bitsliced warp,
 * which is slower, two thirds of that; each of them one at least.
 */
template <uint32_t PIECES, bool BITSLICED>
static __device__ __forceinline__ piece_span take_chunks(work_queue &queue, const block_part &part,
                                                         uint32_t most)
{
    uint32_t warps = blockDim.x / LANES;
    unsigned long long old = 0;
    uint32_t size = 0;
    if (threadIdx.x % LANES == 0) {
        unsigned long long now = *const_cast<volatile unsigned long long *>(&queue.taken);
        uint64_t used = (now & 0xffffffff) + (now >> 32);
        uint32_t left = used < part.common ? part.common - static_cast<uint32_t>(used) : 0;
        size = max(1u, min(most, BITSLICED ? left * 2 / (warps * 3) : left / warps));
        old =
            atomicAdd(&queue.taken, static_cast<unsigned long long>(size) << (BITSLICED ? 32 : 0));
    }
    old = __shfl_sync(ALL_LANES, old, 0);
    size = __shfl_sync(ALL_LANES, size, 0);
    uint32_t front = static_cast<uint32_t>(old), back = static_cast<uint32_t>(old >> 32);
    if (static_cast<uint64_t>(front) + back >= part.common)
        return {0, 0};
    uint32_t end = part.common - back;
    size = min(size, end - front);
    return BITSLICED ? piece_span{(end - size) * PIECES, end * PIECES}
                     : piece_span{front * PIECES, (front + size) * PIECES};
}

/*
 * Takes a part of what is left of the rest for the caller's converged warp, as if all warps of the
 * block took some, and one piece at least; none when all of it is taken.
 */
template <uint32_t PIECES>
static __device__ __forceinline__ piece_span take_rest(work_queue &queue, const block_part &part)
{
    uint32_t pieces = (part.chunks - part.common) * PIECES, begin = 0, size = 0;
    if (threadIdx.x % LANES == 0) {
        uint32_t now = *const_cast<volatile uint32_t *>(&queue.rest_taken);
        size = max(1u, (pieces - min(pieces, now)) / (blockDim.x / LANES));
        begin = atomicAdd(&queue.rest_taken, size);
    }
    begin = __shfl_sync(ALL_LANES, begin, 0);
    size = __shfl_sync(ALL_LANES, size, 0);
    uint32_t before = part.common * PIECES;
    return {before + min(begin, pieces), before + min(begin + size, pieces)};
}

#endif
