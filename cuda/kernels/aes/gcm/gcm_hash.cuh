/*
 * What GCM adds to CTR kernels: each thread hashes the blocks that it writes (encryption) or reads
 * (decryption), wherever they lie. The factor of a block, H to the power of its distance from the
 * end, is multiplied in once for each run of blocks that are equally far from each other, so that
 * warps may take their work in any order.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_GCM_HASH_CUH
#define GPUAES_KERNELS_GCM_HASH_CUH

#include "cuda/kernels/aes/gcm/ghash.cuh"

/* ---- Powers of H ------------------------------------------------------------ */

static __device__ __forceinline__ ghash_element load_power(const ghash_arguments &g, uint32_t level,
                                                           uint32_t number)
{
    uint4 v = reinterpret_cast<const uint4 *>(g.powers)[level * GHASH_POWERS + number];
    return {static_cast<uint64_t>(v.y) << 32 | v.x, static_cast<uint64_t>(v.w) << 32 | v.z};
}

/* H to the power of `exponent`, as a factor. */
static __device__ __forceinline__ ghash_element power(const ghash_arguments &g, uint64_t exponent)
{
    ghash_element p = load_power(g, 0, exponent % GHASH_POWERS);
#pragma unroll 1
    for (uint32_t level = 1; level < g.levels; level++) {
        exponent /= GHASH_POWERS;
        p = multiply(p, load_power(g, level, exponent % GHASH_POWERS));
    }
    return p;
}

static __device__ __forceinline__ ghash_element step(const ghash_arguments &g, int number)
{
    return {g.step[number][0], g.step[number][1]};
}

/* ---- A thread's part of the hash ----------------------------------------------- */

enum class hashed_text { of_encryption, of_decryption };

template <hashed_text TEXT> struct gcm_hash {
    const ghash_arguments &g;
    uint64_t blocks;
    ghash_element sum; /* of all that is complete */
    ghash_element run; /* blocks of the run under way, whose last has no factor yet */

    __device__ __forceinline__ gcm_hash(const ghash_arguments &arguments, uint64_t count)
        : g(arguments), blocks(count), sum{}, run{}
    {
    }
    static __device__ __forceinline__ ghash_element text(aes_state in, aes_state out)
    {
        return to_element(TEXT == hashed_text::of_encryption ? out : in);
    }

    /* Block `i`, which may be beyond the end. */
    __device__ __forceinline__ void add_single(aes_state in, aes_state out, uint64_t i)
    {
        if (i < blocks)
            sum = sum ^ multiply(text(in, out), power(g, blocks - i));
    }

    /* The next block of a run: the blocks of a run are step 1 apart. */
    __device__ __forceinline__ void add(aes_state in, aes_state out)
    {
        run = multiply(run, step(g, 1)) ^ text(in, out);
    }

    /* Ends a run, whose last block was `i`. */
    __device__ __forceinline__ void end_run(uint64_t i)
    {
        sum = sum ^ multiply(run, power(g, blocks - i));
        run = {};
    }

    /* Eight blocks that follow each other in a run, given in any order. */
    struct eight {
        ghash_sum sum;
    };
    __device__ __forceinline__ eight begin_eight() const
    {
        eight e = {};
        add_product(e.sum, run, step(g, 8));
        return e;
    }
    __device__ __forceinline__ void add(eight &e, int number, aes_state in, aes_state out) const
    {
        add_product(e.sum, text(in, out), step(g, 7 - number));
    }
    __device__ __forceinline__ void end_eight(const eight &e)
    {
        run = reduce(e.sum);
    }

    __device__ __forceinline__ void finish();
};

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
 * Adds up what all threads of the grid have; the last block writes the hash. Called by all
 * threads, in the end: overwrites the beginning of the shared memory.
 */
template <hashed_text TEXT> __device__ __forceinline__ void gcm_hash<TEXT>::finish()
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        ghash_element before = to_element(to_state(*reinterpret_cast<const uint4 *>(g.hash)));
        sum = sum ^ multiply(before, power(g, blocks));
    }
    uint32_t warps_of_block = blockDim.x / LANES, l = threadIdx.x % LANES;
    uint64_t *of_warps = reinterpret_cast<uint64_t *>(shared_words);
    sum = add_lanes(sum);
    __syncthreads();
    if (l == 0) {
        of_warps[threadIdx.x / LANES * 2] = sum.low;
        of_warps[threadIdx.x / LANES * 2 + 1] = sum.high;
    }
    __syncthreads();
    if (threadIdx.x >= LANES)
        return;
    sum = {};
    if (l < warps_of_block)
        sum = {of_warps[l * 2], of_warps[l * 2 + 1]};
    sum = add_lanes(sum);
    if (l != 0)
        return;
    ghash_total *total = reinterpret_cast<ghash_total *>(g.total);
    atomicXor(&total->low, static_cast<unsigned long long>(sum.low));
    atomicXor(&total->high, static_cast<unsigned long long>(sum.high));
    __threadfence();
    if (atomicAdd(&total->blocks, 1u) + 1 == gridDim.x)
        *reinterpret_cast<uint4 *>(g.hash) =
            to_vector(to_block({atomicXor(&total->low, 0ull), atomicXor(&total->high, 0ull)}));
}

#endif
