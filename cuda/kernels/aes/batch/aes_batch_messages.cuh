/*
 * Messages of batches and their keys: see arguments.h.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, and
 * which lanes share a round key depends on the messages' order alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_BATCH_MESSAGES_CUH
#define GPUAES_KERNELS_AES_BATCH_MESSAGES_CUH

#include "cuda/kernels/aes/aes_modes.cuh"

/* ---- Keys -------------------------------------------------------------------- */

static __device__ __forceinline__ aes_state round_key(const aes_batch_arguments &a, int round)
{
    const uint32_t *w = &a.round_key[4 * round];
    return {w[0], w[1], w[2], w[3]};
}

/* A schedule in device or shared memory. */
struct key_at {
    const uint4 *words;
};

static __device__ __forceinline__ aes_state round_key(const key_at &key, int round)
{
    return to_state(key.words[round]);
}

static __device__ __forceinline__ key_at key_in_memory(const aes_batch_arguments &a,
                                                       uint32_t number)
{
    return {reinterpret_cast<const uint4 *>(a.keys) + number * (AES_BATCH_KEY_WORDS / 4)};
}

/* One schedule in shared memory, that of the message which the warp is at. */
struct warp_key {
    uint4 *words;
    uint32_t number; /* ~0: none yet */
};

template <int TABLES> static __device__ __forceinline__ warp_key no_warp_key()
{
    uint32_t *words =
        shared_words + TABLES * (AES_TABLE_SHARED / 4) + threadIdx.x / LANES * AES_BATCH_KEY_WORDS;
    return {reinterpret_cast<uint4 *>(words), ~uint32_t{0}};
}

static __device__ __forceinline__ key_at share_key(const aes_batch_arguments &a, warp_key &key,
                                                   uint32_t number)
{
    if (key.number != number) {
        uint32_t l = threadIdx.x % LANES;
        __syncwarp();
        if (l < AES_BATCH_KEY_WORDS / 4)
            key.words[l] = key_in_memory(a, number).words[l];
        __syncwarp();
        key.number = number;
    }
    return {key.words};
}

/* A schedule of each lane in shared memory, so that lanes do not wait for each other's. */
struct lane_key {
    const uint4 *words;
};

static __device__ __forceinline__ aes_state round_key(const lane_key &key, int round)
{
    return to_state(key.words[round * LANES]);
}

template <int TABLES> static __device__ __forceinline__ uint4 *lane_key_words()
{
    uint32_t *all = shared_words + TABLES * (AES_TABLE_SHARED / 4) +
                    blockDim.x / LANES * AES_BATCH_KEY_WORDS +
                    threadIdx.x / LANES * (AES_BATCH_LANES_SHARED / 4);
    return reinterpret_cast<uint4 *>(all) + threadIdx.x % LANES;
}

/* For lanes of warps that have room for it. */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ lane_key keep_key(const aes_batch_arguments &a, uint32_t number)
{
    uint4 *words = lane_key_words<TABLES>();
    key_at from = key_in_memory(a, number);
#pragma unroll 1
    for (int round = 0; round <= ROUNDS; round++)
        words[round * LANES] = from.words[round];
    return {words};
}

/* Shared memory is not cleared before another kernel gets it. */
template <int TABLES> static __device__ __forceinline__ void wipe_keys(const aes_batch_arguments &a)
{
    uint32_t l = threadIdx.x % LANES;
    __syncwarp();
    if (l < AES_BATCH_KEY_WORDS / 4)
        no_warp_key<TABLES>().words[l] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x / LANES < a.lane_keys)
#pragma unroll 1
        for (int round = 0; round < AES_BATCH_KEY_WORDS / 4; round++)
            lane_key_words<TABLES>()[round * LANES] = make_uint4(0, 0, 0, 0);
}

/* ---- Messages ------------------------------------------------------------------ */

struct batch_message {
    uint64_t in, out;
    aes_state iv;
    uint32_t blocks, key, mode, after;
};

static __device__ __forceinline__ batch_message load_message(const aes_batch_arguments &a,
                                                             uint32_t number)
{
    const uint4 *from = reinterpret_cast<const uint4 *>(a.messages) + uint64_t{number} * 3;
    uint4 where = from[0], iv = from[1], what = from[2];
    return {static_cast<uint64_t>(where.y) << 32 | where.x,
            static_cast<uint64_t>(where.w) << 32 | where.z,
            to_state(iv),
            what.x,
            what.y,
            what.z,
            what.w};
}

static __device__ __forceinline__ counter counter_of(aes_state iv)
{
    return {static_cast<uint64_t>(swap_bytes(iv.c0)) << 32 | swap_bytes(iv.c1),
            static_cast<uint64_t>(swap_bytes(iv.c2)) << 32 | swap_bytes(iv.c3)};
}

/* The counter block of block `i`: of GCM, only the last 32 bits count. */
static __device__ __forceinline__ counter counter_at(const batch_message &m, uint32_t i)
{
    counter begin = counter_of(m.iv), c = advance(begin, i);
    if (m.mode == AES_BATCH_GCM)
        c = {begin.high, (begin.low >> 32) << 32 | static_cast<uint32_t>(c.low)};
    return c;
}

/* ---- Places ---------------------------------------------------------------------- */

/* The last of `count` whose first is not behind `at`; for a converged warp. */
static __device__ __forceinline__ uint32_t find_last(const uint32_t *first, uint32_t count,
                                                     uint32_t at)
{
    uint32_t low = 0, size = count;
    while (size > 1) {
        uint32_t step = (size + LANES - 1) / LANES, probe = threadIdx.x % LANES * step;
        bool is_before = probe < size && first[low + probe] <= at;
        uint32_t skipped =
            (static_cast<uint32_t>(__popc(__ballot_sync(ALL_LANES, is_before))) - 1) * step;
        low += skipped;
        size = min(step, size - skipped);
    }
    return low;
}

/* The parallel message that has this block. */
static __device__ __forceinline__ uint32_t find_message(const aes_batch_arguments &a,
                                                        uint32_t block)
{
    return find_last(reinterpret_cast<const uint32_t *>(a.first), a.parallel, block);
}

#endif
