/*
 * CTR of messages by two kinds of warps: some look tables up, whose limit is the port of shared
 * memory, while others compute bitsliced, whose limit is arithmetic. A bitsliced warp encrypts
 * eight blocks of each lane's segment at a time, which follow each other.
 *
 * For planned launches with one key. A block of 28 warps has 20 table warps and 8 bitsliced ones,
 * each with as many registers: measured on an H100, others with setmaxnreg were not faster.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_MESSAGE_HYBRID_CUH
#define GPUAES_KERNELS_MESSAGE_HYBRID_CUH

#include "cuda/kernels/aes/hybrid/bitslice.cuh"
#include "cuda/kernels/aes/message/message_counter.cuh"

#ifdef HAS_HYBRID_KERNELS

using table_stage = stage<MESSAGE_SMALL_PIECE>;
using bitsliced_stage = stage<MESSAGE_LARGE_PIECE>;
static_assert(bitsliced_stage::BLOCKS == 8, "a lane computes eight blocks at a time");

/* Eight counter blocks from `c` on, word w of block j in s[8 * w + j]. */
static __device__ __forceinline__ void write_counters(const counter_words &c, uint32_t s[PLANES])
{
    counter_words carried = c;
    if (c.low > 0u - bitsliced_stage::BLOCKS)
        carried.carry();
#pragma unroll
    for (uint32_t j = 0; j < bitsliced_stage::BLOCKS; j++) {
        bool is_behind = c.low + j < j;
        s[j] = is_behind ? carried.c0 : c.c0;
        s[8 + j] = is_behind ? carried.c1 : c.c1;
        s[16 + j] = is_behind ? carried.c2 : c.c2;
        s[24 + j] = swap_bytes(c.low + j);
    }
}

/* Encrypts the lane's piece of eight blocks, from counter block `c` on. */
template <int ROUNDS>
static __device__ __forceinline__ void encrypt_piece(const message_hybrid_arguments &h,
                                                     const counter_words &c, bitsliced_stage &text)
{
    const uint32_t *last = h.message.round_key + 4 * ROUNDS;
    uint32_t s[PLANES];
    write_counters(c, s);
    to_planes(s);
#pragma unroll
    for (int i = 0; i < PLANES; i++)
        s[i] ^= h.planes[0][i];
    bitsliced_rounds<false, 1, ROUNDS>(s, h.planes);
#pragma unroll
    for (int half = 0; half <= 4; half += 4) {
        from_planes_half(s, half);
#pragma unroll
        for (int k = half; k < half + 4; k++) {
            aes_state in = text.read(static_cast<uint32_t>(k));
            text.write(static_cast<uint32_t>(k),
                       {xor3(in.c0, s[k], last[0]), xor3(in.c1, s[8 + k], last[1]),
                        xor3(in.c2, s[16 + k], last[2]), xor3(in.c3, s[24 + k], last[3])});
        }
    }
}

template <int ROUNDS>
static __device__ __forceinline__ void run_bitsliced(const message_hybrid_arguments &h,
                                                     const segment &s, uint32_t base)
{
    const message_arguments &a = h.message;
    bitsliced_stage text;
    text.begin(a, s, base, s.text_bytes(a));
    counter_words c = begin_counter<false>(a, s, {});
    c.advance(s.from, true);
    if (text.skips())
        c.go_back();
#pragma unroll 1
    while (text.goes_on()) {
        text.load();
        encrypt_piece<ROUNDS>(h, c, text);
        c.advance(bitsliced_stage::BLOCKS, true);
        text.store();
    }
    finish(a, s, s.is_on && s.from == 0, false);
}

/*
 * Whether a bitsliced warp may take a group: it takes longer for one than a table warp, so that the
 * last ones are left to those.
 */
static __device__ __forceinline__ bool leaves_groups(const message_arguments &a, uint32_t groups,
                                                     uint32_t table_warps)
{
    uint32_t taken = *reinterpret_cast<const volatile uint32_t *>(&queue_of(a).taken);
    return __shfl_sync(ALL_LANES, taken, 0) + gridDim.x * table_warps < groups;
}

template <int ROUNDS>
static __device__ __forceinline__ void message_hybrid(const message_hybrid_arguments &h)
{
    const message_arguments &a = h.message;
    const uint32_t tables = 4 * AES_TABLE_SHARED, warp = threadIdx.x / LANES;
    const uint32_t table_warps = MESSAGE_TABLES_OF(blockDim.x / LANES);
    fill_tables<4>(constant_tables.te);
    planned p = read_plan(a);
    segment s;
    if (warp < table_warps) {
        uint32_t lane = lane_address();
        counter_shared &none = *reinterpret_cast<counter_shared *>(shared_words);
        one_counter_key<4, ROUNDS> key(a);
        while (next_segment(a, 0, s))
            run_counter<one_counter_key<4, ROUNDS>, table_stage::BLOCKS, false>(a, s, key, lane,
                                                                                tables, none);
        return;
    }
    /* The rows of bitsliced warps follow those of table warps, which take fewer bytes. */
    const uint32_t base = tables - table_warps * (bitsliced_stage::SHARED - table_stage::SHARED);
    while (leaves_groups(a, p.groups, table_warps) && next_segment(a, 0, s))
        run_bitsliced<ROUNDS>(h, s, base);
}

#endif
#endif
