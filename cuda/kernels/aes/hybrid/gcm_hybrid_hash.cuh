/*
 * What GCM adds to hybrid kernels, whose warps take their work in any order: each thread hashes
 * runs of blocks that are equally far from each other, by Horner's rule. The factor of a run, H to
 * the power of its last block's distance from the end, is multiplied in when it ends.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_GCM_HYBRID_HASH_CUH
#define GPUAES_KERNELS_GCM_HYBRID_HASH_CUH

#include "cuda/kernels/aes/gcm/gcm_hash.cuh"

/* ---- Powers of H ------------------------------------------------------------ */

static __device__ __forceinline__ ghash_element load_power(const ghash_hybrid_arguments &g,
                                                           uint32_t level, uint32_t number)
{
    uint4 v = reinterpret_cast<const uint4 *>(g.powers)[level * GHASH_POWERS + number];
    return {static_cast<uint64_t>(v.y) << 32 | v.x, static_cast<uint64_t>(v.w) << 32 | v.z};
}

/* H to the power of `exponent`, as a factor. */
static __device__ __forceinline__ ghash_element power(const ghash_hybrid_arguments &g,
                                                      uint64_t exponent)
{
    ghash_element p = load_power(g, 0, exponent % GHASH_POWERS);
#pragma unroll 1
    for (uint32_t level = 1; level < g.levels; level++) {
        exponent /= GHASH_POWERS;
        p = multiply(p, load_power(g, level, exponent % GHASH_POWERS));
    }
    return p;
}

/* ---- A thread's part of the hash ----------------------------------------------- */

template <hashed_text TEXT> struct gcm_hybrid_hash {
    const ghash_hybrid_arguments &g;
    uint64_t blocks;
    ghash_element sum; /* of all that is complete */
    ghash_element run; /* blocks of the run under way, whose last has no factor yet */

    __device__ __forceinline__ gcm_hybrid_hash(const ghash_hybrid_arguments &arguments,
                                               uint64_t count)
        : g(arguments), blocks(count), sum{}, run{}
    {
    }
    __device__ __forceinline__ ghash_element step(int number) const
    {
        return load_element(g.step[number]);
    }

    /* Block `i`. */
    __device__ __forceinline__ void add_single(aes_state in, aes_state out, uint64_t i)
    {
        sum = sum ^ multiply(text_of<TEXT>(in, out), power(g, blocks - i));
    }

    /* The next block of a run: the blocks of a run are step 1 apart. */
    __device__ __forceinline__ void add(aes_state in, aes_state out)
    {
        run = multiply(run, step(1)) ^ text_of<TEXT>(in, out);
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
        add_product(e.sum, run, step(8));
        return e;
    }
    __device__ __forceinline__ void add(eight &e, int number, aes_state in, aes_state out) const
    {
        add_product(e.sum, text_of<TEXT>(in, out), step(7 - number));
    }
    __device__ __forceinline__ void end_eight(const eight &e)
    {
        run = reduce(e.sum);
    }

    /* Called by all threads, in the end: overwrites the beginning of the shared memory. */
    __device__ __forceinline__ void finish()
    {
        store_sum(g.sums, sum);
    }
};

#endif
