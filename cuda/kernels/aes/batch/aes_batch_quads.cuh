/*
 * CBC encryption, four lanes a message, a column of the state each.
 *
 * A warp can begin a lookup every four cycles, and has the word 23 cycles later. A lane
 * that has all columns waits for sixteen of them in each round, 96 cycles; here it is
 * four and three exchanges, 77 cycles. That counts as long as there are few messages.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, and
 * which lanes share a round key depends on the messages' order alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_BATCH_QUADS_CUH
#define GPUAES_KERNELS_AES_BATCH_QUADS_CUH

#include "cuda/kernels/aes/batch/aes_batch_messages.cuh"

enum : uint32_t { QUAD = 4, QUADS = LANES / QUAD };

/* Which column of a block the lane has, and the lanes that have those after it. */
struct quad_lane {
    uint32_t column, after1, after2, after3;
};

static __device__ __forceinline__ quad_lane find_quad_lane()
{
    uint32_t column = threadIdx.x % QUAD, first = threadIdx.x % LANES - column;
    return {column, first + (column + 1) % QUAD, first + (column + 2) % QUAD,
            first + (column + 3) % QUAD};
}

static __device__ __forceinline__ uint32_t column_of(aes_state s, uint32_t column)
{
    uint32_t low = column == 0 ? s.c0 : s.c1, high = column == 2 ? s.c2 : s.c3;
    return column < 2 ? low : high;
}

template <bool ALIGNED> static __device__ __forceinline__ uint32_t load_word(uint64_t address)
{
    if (ALIGNED)
        return *reinterpret_cast<const uint32_t *>(address);
    const unsigned char *from = reinterpret_cast<const unsigned char *>(address);
    return from[0] | static_cast<uint32_t>(from[1]) << 8 | static_cast<uint32_t>(from[2]) << 16 |
           static_cast<uint32_t>(from[3]) << 24;
}

template <bool ALIGNED>
static __device__ __forceinline__ void store_word(uint64_t address, uint32_t word)
{
    if (ALIGNED) {
        __stcs(reinterpret_cast<uint32_t *>(address), word);
    } else {
        unsigned char *to = reinterpret_cast<unsigned char *>(address);
        to[0] = static_cast<unsigned char>(word);
        to[1] = static_cast<unsigned char>(word >> 8);
        to[2] = static_cast<unsigned char>(word >> 16);
        to[3] = static_cast<unsigned char>(word >> 24);
    }
}

template <int ROUNDS> struct quad_key {
    uint32_t word[ROUNDS + 1]; /* the lane's column of each round key */
};

/* A lookup for each row, then each lane takes what belongs to its column. */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ uint32_t encrypt_quad(uint32_t lane, const quad_lane &q,
                                                        uint32_t s, const quad_key<ROUNDS> &key)
{
    using T = aes_lookup<TABLES>;
#pragma unroll
    for (int round = 1; round < ROUNDS; round++) {
        uint32_t row1 = T::template table<1>(s, lane), row2 = T::template table<2>(s, lane);
        uint32_t row3 = T::template table<3>(s, lane), row0 = T::template table<0>(s, lane);
        row1 = __shfl_sync(ALL_LANES, row1, static_cast<int>(q.after1));
        row2 = __shfl_sync(ALL_LANES, row2, static_cast<int>(q.after2));
        row3 = __shfl_sync(ALL_LANES, row3, static_cast<int>(q.after3));
        s = xor3(xor3(row0, key.word[round], row1), row2, row3);
    }
    uint32_t row1 = T::template word<1, 0>(s, lane), row2 = T::template word<2, 0>(s, lane);
    uint32_t row3 = T::template word<3, 0>(s, lane), row0 = T::template word<0, 0>(s, lane);
    row1 = __shfl_sync(ALL_LANES, row1, static_cast<int>(q.after1));
    row2 = __shfl_sync(ALL_LANES, row2, static_cast<int>(q.after2));
    row3 = __shfl_sync(ALL_LANES, row3, static_cast<int>(q.after3));
    uint32_t low = __byte_perm(row0, row1, 0x0051), high = __byte_perm(row2, row3, 0x6200);
    return __byte_perm(low, high, 0x7610) ^ key.word[ROUNDS];
}

/* Blocks of a message from `from` to below `end`, and of its neighbours to `longest`. */
template <int TABLES, int ROUNDS, bool ALIGNED>
static __device__ __forceinline__ void encrypt_quads(uint32_t lane, const batch_message &m,
                                                     uint32_t from, uint32_t end, uint32_t longest,
                                                     const quad_key<ROUNDS> &key)
{
    quad_lane q = find_quad_lane();
    uint64_t in = m.in + 4 * q.column, out = m.out + 4 * q.column;
    uint32_t last = end > from ? end - 1 : from;
    uint32_t s = column_of(m.iv, q.column);
    if (from != 0)
        s = load_word<ALIGNED>(out + uint64_t{16} * (from - 1));
    uint32_t next = load_word<ALIGNED>(in + uint64_t{16} * from);
    uint32_t second = load_word<ALIGNED>(in + uint64_t{16} * min(from + 1, last));
#pragma unroll 1
    for (uint32_t i = from; i < longest; i++) {
        s = xor3(s, next, key.word[0]);
        next = second;
        second = load_word<ALIGNED>(in + uint64_t{16} * min(i + 2, last));
        s = encrypt_quad<TABLES, ROUNDS>(lane, q, s, key);
        if (i < end)
            store_word<ALIGNED>(out + uint64_t{16} * i, s);
    }
}

/* Message `n` of the serial ones, or none, in a converged warp. */
template <int TABLES, int ROUNDS, bool ONE_KEY>
static __device__ __forceinline__ void quad_message(uint32_t lane, const aes_batch_arguments &a,
                                                    uint32_t n)
{
    batch_message m = load_message(a, a.parallel + min(n, a.serial - 1));
    uint32_t end = n < a.serial ? min(a.to, m.blocks) : a.from, longest = end;
    uint32_t column = threadIdx.x % QUAD;
    quad_key<ROUNDS> key;
#pragma unroll
    for (int round = 0; round <= ROUNDS; round++) {
        aes_state all = ONE_KEY ? round_key(a, round) : round_key(key_in_memory(a, m.key), round);
        key.word[round] = in_register(column_of(all, column));
    }
#pragma unroll
    for (uint32_t distance = QUAD; distance < LANES; distance *= 2)
        longest = max(longest, __shfl_sync(ALL_LANES, longest,
                                           static_cast<int>((threadIdx.x ^ distance) % LANES)));
    if (__all_sync(ALL_LANES, ((m.in | m.out) & 3) == 0))
        encrypt_quads<TABLES, ROUNDS, true>(lane, m, a.from, end, longest, key);
    else
        encrypt_quads<TABLES, ROUNDS, false>(lane, m, a.from, end, longest, key);
}

#endif
