/*
 * What GCM adds to CTR kernels: each thread hashes the blocks that it writes (encryption) or reads
 * (decryption), by Horner's rule with the distance from each to the next. What that makes is
 * multiplied by H to the power of its last block's distance from the end, and added up.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_GCM_HASH_CUH
#define GPUAES_KERNELS_GCM_HASH_CUH

#include "cuda/kernels/aes/gcm/ghash.cuh"

enum class hashed_text { of_encryption, of_decryption };

template <hashed_text TEXT>
static __device__ __forceinline__ ghash_element text_of(aes_state in, aes_state out)
{
    return to_element(TEXT == hashed_text::of_encryption ? out : in);
}

static __device__ __forceinline__ ghash_element load_element(const uint64_t *from)
{
    return {from[0], from[1]};
}

static __device__ __forceinline__ void store_element(uint64_t *to, ghash_element e)
{
    to[0] = e.low;
    to[1] = e.high;
}

/* ---- Sums ---------------------------------------------------------------------- */

static __device__ __forceinline__ ghash_element add_lanes(ghash_element e)
{
#pragma unroll
    for (int lanes = LANES / 2; lanes != 0; lanes /= 2) {
        e.low ^= __shfl_xor_sync(ALL_LANES, e.low, lanes);
        e.high ^= __shfl_xor_sync(ALL_LANES, e.high, lanes);
    }
    return e;
}

/*
 * Adds up what all threads of a block have, and for the first block the hash before. Called by all
 * threads, in the end: overwrites the beginning of the shared memory.
 */
static __device__ __forceinline__ void store_sum(const ghash_sums &s, ghash_element sum)
{
    if (blockIdx.x == 0 && s.count != 0) {
        const uint64_t *before = reinterpret_cast<const uint64_t *>(s.before);
        ghash_element part = {};
        for (uint32_t n = threadIdx.x; n < s.count; n += blockDim.x)
            part = part ^ load_element(before + 2 * n);
        sum = sum ^ multiply(part, load_element(s.factor));
    }
    uint32_t l = threadIdx.x % LANES;
    uint64_t *of_warps = reinterpret_cast<uint64_t *>(shared_words);
    sum = add_lanes(sum);
    __syncthreads();
    if (l == 0)
        store_element(of_warps + threadIdx.x / LANES * 2, sum);
    __syncthreads();
    if (threadIdx.x >= LANES)
        return;
    sum = {};
    if (l < blockDim.x / LANES) {
        sum = load_element(of_warps + 2 * l);
        store_element(of_warps + 2 * l, {}); /* shared memory is not cleared for the next kernel */
    }
    sum = add_lanes(sum);
    if (l == 0)
        reinterpret_cast<uint4 *>(s.own)[blockIdx.x] = to_words(sum);
}

/* ---- Powers of H ------------------------------------------------------------ */

/* For each four bits of an exponent the factors of their values, in shared memory. */
enum { TABLE_BITS = 4, TABLE_POWERS = 1 << TABLE_BITS };

/* What a bit of `number` stands for. */
static __device__ __forceinline__ ghash_element square_or_one(const ghash_arguments &g,
                                                              uint32_t level, uint32_t number,
                                                              uint32_t bit)
{
    return (number >> bit & 1) != 0 ? load_element(g.squares[TABLE_BITS * level + bit])
                                    : ghash_one();
}

static __device__ __forceinline__ void fill_powers(const ghash_arguments &g, uint64_t *table)
{
    for (uint32_t i = threadIdx.x; i < g.levels * TABLE_POWERS; i += blockDim.x) {
        uint32_t level = i / TABLE_POWERS, number = i % TABLE_POWERS;
        ghash_element low =
            multiply(square_or_one(g, level, number, 0), square_or_one(g, level, number, 1));
        ghash_element high =
            multiply(square_or_one(g, level, number, 2), square_or_one(g, level, number, 3));
        store_element(table + 2 * i, multiply(low, high));
    }
}

static __device__ __forceinline__ ghash_element multiply_by_power(const ghash_arguments &g,
                                                                  ghash_element e,
                                                                  const uint64_t *table,
                                                                  uint64_t exponent)
{
#pragma unroll 1
    for (uint32_t level = 0; level < g.levels; level++) {
        uint32_t number = level * TABLE_POWERS + static_cast<uint32_t>(exponent % TABLE_POWERS);
        e = multiply(e, load_element(table + 2 * number));
        exponent /= TABLE_POWERS;
    }
    return e;
}

/* ---- A thread's part of the hash ----------------------------------------------- */

template <hashed_text TEXT> struct gcm_hash {
    const ghash_arguments &g;
    uint64_t blocks, last;
    ghash_element sum; /* of the blocks so far; the factor of the last one is still missing */

    __device__ __forceinline__ gcm_hash(const ghash_arguments &arguments, uint64_t count)
        : g(arguments), blocks(count), last(0), sum{}
    {
    }

    /* The next block, number `i`, which may be beyond the end. */
    __device__ __forceinline__ void add_at(aes_state in, aes_state out, uint64_t i,
                                           bool begins_tile)
    {
        if (i >= blocks)
            return;
        sum = multiply(sum, load_element(begins_tile ? g.tile : g.row)) ^ text_of<TEXT>(in, out);
        last = i;
    }

    /* Called by all threads, in the end: overwrites the beginning of the shared memory. */
    __device__ __forceinline__ void finish()
    {
        uint64_t *table = reinterpret_cast<uint64_t *>(shared_words);
        __syncthreads();
        fill_powers(g, table);
        __syncthreads();
        sum = multiply_by_power(g, sum, table, blocks - last);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < g.levels * TABLE_POWERS; i += blockDim.x)
            store_element(table + 2 * i, {});
        store_sum(g.sums, sum);
    }
};

#endif
