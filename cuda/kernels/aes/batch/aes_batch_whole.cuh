/*
 * Whole spans: AES_BATCH_ROWS_MOST rows of one message in CTR or GCM, whose blocks need not be
 * looked for one by one. Of GCM, the warp hashes what it writes or reads.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, products are the
 * same for all numbers, and which powers of H are multiplied depends on lengths alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_BATCH_WHOLE_CUH
#define GPUAES_KERNELS_AES_BATCH_WHOLE_CUH

#include "cuda/kernels/aes/batch/gcm_batch.cuh"

enum : uint32_t { WHOLE_BLOCKS = AES_BATCH_ROWS_MOST * LANES };

/* Whether the blocks from `block` on, which are of message `number`, are a whole span. */
static __device__ __forceinline__ bool
is_whole(const aes_batch_arguments &a, const batch_message &m, uint32_t number, uint32_t block)
{
    uint32_t end = reinterpret_cast<const uint32_t *>(a.first)[number + 1];
    return a.rows == AES_BATCH_ROWS_MOST && m.mode >= AES_BATCH_CTR && end - block >= WHOLE_BLOCKS;
}

/* ---- The hash --------------------------------------------------------------------- */

/* Of the blocks of a lane, which are LANES apart; the last one still without its factor. */
struct span_hash {
    const uint4 *powers;
    bool is_of_input;
    ghash_element sum, step;

    __device__ __forceinline__ span_hash(const aes_batch_arguments &a, uint32_t key)
        : powers(reinterpret_cast<const uint4 *>(a.powers) + uint64_t{key} * GCM_BATCH_POWERS),
          is_of_input(a.hashes_input != 0), sum{}, step(load_power(powers + LANES - 1))
    {
    }
    __device__ __forceinline__ ghash_element text(aes_state in, aes_state out) const
    {
        return to_element(is_of_input ? in : out);
    }
    /* The next block. */
    __device__ __forceinline__ void add(aes_state in, aes_state out)
    {
        sum = multiply(sum, step) ^ text(in, out);
    }

    /* All eight, in any order. */
    struct eight {
        ghash_sum sum;
    };
    __device__ __forceinline__ eight begin_eight() const
    {
        return {};
    }
    __device__ __forceinline__ void add(eight &e, int number, aes_state in, aes_state out) const
    {
        add_product(e.sum, text(in, out), load_power(powers + GCM_BATCH_STEPS + 7 - number));
    }
    __device__ __forceinline__ void end_eight(const eight &e)
    {
        sum = reduce(e.sum);
    }

    /* Adds it to the message's hash; `after` blocks follow the span. */
    __device__ __forceinline__ void finish(const aes_batch_arguments &a, uint32_t number,
                                           uint32_t after) const
    {
        uint32_t l = threadIdx.x % LANES;
        ghash_element e = multiply(sum, load_power(powers + LANES - 1 - l));
        const uint4 *square = powers + GCM_BATCH_SQUARES;
#pragma unroll 1
        for (; after != 0; after /= 2, square++)
            if (after % 2 != 0)
                e = multiply(e, load_power(square));
        e = add_lanes(e);
        if (l != 0)
            return;
        gcm_batch_state &state = reinterpret_cast<gcm_batch_state *>(a.states)[number];
        atomicXor(&state.hash[0], static_cast<unsigned long long>(e.low));
        atomicXor(&state.hash[1], static_cast<unsigned long long>(e.high));
    }
};

/* ---- By tables ------------------------------------------------------------------------ */

/*
 * The blocks of the span from block `from` of the message on, WIDE rows at a time, which share each
 * reading of a round key. Counters of a tile differ in byte 15 alone.
 */
template <int TABLES, int ROUNDS, int WIDE, class KEY, class HASH>
static __device__ __forceinline__ void span_by_tables(uint32_t lane, const batch_message &m,
                                                      uint32_t from, const KEY &key, HASH &hash)
{
    uint32_t begins = 1; /* of the lane's tile; none begins so */
    ctr_tile tile = {};
#pragma unroll 1
    for (uint32_t first = from; first != from + WHOLE_BLOCKS; first += WIDE * LANES) {
        aes_state text[WIDE], s[WIDE];
#pragma unroll
        for (int w = 0; w < WIDE; w++) {
            uint32_t i = first + w * LANES + threadIdx.x % LANES;
            text[w] = load_block(m.in, m.blocks, i);
            counter c = counter_at(m, i);
            uint32_t byte15 = static_cast<uint32_t>(c.low) & 0xff;
            c.low -= byte15;
            if (__any_sync(ALL_LANES, begins != static_cast<uint32_t>(c.low)))
                tile = begin_tile<TABLES>(lane, c, key);
            begins = static_cast<uint32_t>(c.low);
            s[w] = after_round2<TABLES>(lane, tile, byte15);
        }
#pragma unroll
        for (int round = 3; round <= ROUNDS; round++) {
            aes_state k = round_key(key, round);
#pragma unroll
            for (int w = 0; w < WIDE; w++)
                s[w] = round < ROUNDS ? encrypt_round<TABLES>(lane, s[w], k)
                                      : encrypt_last<TABLES>(lane, s[w], k) ^ text[w];
        }
#pragma unroll
        for (int w = 0; w < WIDE; w++) {
            store_blocks(m.out, m.blocks, first + w * LANES, s[w]);
            hash.add(text[w], s[w]);
        }
    }
}

/* Blocks that are hashed after the span from block `from` of the message on. */
static __device__ __forceinline__ uint32_t hashed_after(const batch_message &m, uint32_t from)
{
    return m.blocks - from - WHOLE_BLOCKS + m.after;
}

template <int TABLES, int ROUNDS, int WIDE, class KEY>
static __device__ __forceinline__ void whole_span(uint32_t lane, const aes_batch_arguments &a,
                                                  const batch_message &m, uint32_t number,
                                                  uint32_t from, const KEY &key)
{
    if (a.states == 0) {
        no_hash none;
        span_by_tables<TABLES, ROUNDS, WIDE>(lane, m, from, key, none);
        return;
    }
    span_hash hash(a, m.key);
    span_by_tables<TABLES, ROUNDS, WIDE>(lane, m, from, key, hash);
    hash.finish(a, number, hashed_after(m, from));
}

#endif
