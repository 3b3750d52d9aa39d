/*
 * AES on T-tables in shared memory: the rounds.
 *
 * Every lane of a warp has its own copy of each table, in its own bank, so no
 * two lanes ever meet in a bank and the time of a lookup does not depend on
 * its index. That is where the speed comes from, and why neither data nor key
 * can be read from the timing.
 *
 * A row of FIPS 197's state has a table; each is a rotation of the others. With
 * four in shared memory, a round is bound by the shared-memory port; with fewer
 * they take less room and less time to fill, and the rest is rotated. Entry x of
 * a table is a line of 128 bytes, a word a lane. One DP4A, on a pipe that has
 * nothing else to do, makes the address of a lookup: byte times 128 plus lane.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_ROUNDS_CUH
#define GPUAES_KERNELS_AES_ROUNDS_CUH

#include "cuda/kernels/aes/aes_tables.cuh"
#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

/* Where the lane's copies begin: what lookups take as `lane`. */
static __device__ __forceinline__ uint32_t lane_address()
{
    return shared_base() + (threadIdx.x % LANES) * 4;
}

static __device__ __forceinline__ aes_state round_key(const aes_arguments &arguments, int round)
{
    const uint32_t *w = &arguments.round_key[4 * round];
    return {w[0], w[1], w[2], w[3]};
}

/* The tables of the first TABLES rows are in shared memory: 1, 2 or 4. */
template <int TABLES> struct aes_lookup {
    /* Byte ROW of x in the table of row ROW, not yet rotated. */
    template <int ROW, int TABLE = ROW % TABLES>
    static __device__ __forceinline__ uint32_t word(uint32_t x, uint32_t lane)
    {
        return shared_word<TABLE * AES_TABLE_SHARED>(__dp4a(x, 0x80u << (8 * ROW), lane));
    }

    template <int ROW> static __device__ __forceinline__ uint32_t table(uint32_t x, uint32_t lane)
    {
        uint32_t w = word<ROW>(x, lane);
        return ROW < TABLES ? w : __funnelshift_l(w, w, 8 * (ROW - ROW % TABLES));
    }

    /* SubBytes, ShiftRows, MixColumns and AddRoundKey of one column. */
    static __device__ __forceinline__ uint32_t column(uint32_t lane, uint32_t row0, uint32_t row1,
                                                      uint32_t row2, uint32_t row3, uint32_t key)
    {
        if (TABLES == 2) {
            uint32_t rotated = word<2>(row2, lane) ^ word<3>(row3, lane);
            return xor3(word<0>(row0, lane), word<1>(row1, lane), key) ^
                   __funnelshift_l(rotated, rotated, 16);
        }
        return xor3(xor3(table<0>(row0, lane), table<1>(row1, lane), table<2>(row2, lane)),
                    table<3>(row3, lane), key);
    }

    /* One column of the last round: bytes 1 and 2 of te are S(x). */
    static __device__ __forceinline__ uint32_t last_column(uint32_t lane, uint32_t row0,
                                                           uint32_t row1, uint32_t row2,
                                                           uint32_t row3, uint32_t key)
    {
        uint32_t low = __byte_perm(word<0, 0>(row0, lane), word<1, 0>(row1, lane), 0x0051);
        uint32_t high = __byte_perm(word<2, 0>(row2, lane), word<3, 0>(row3, lane), 0x6200);
        return __byte_perm(low, high, 0x7610) ^ key;
    }

    /* One column of the last inverse round: the four bytes of td add up to InvS(x). */
    static __device__ __forceinline__ uint32_t last_inverse_column(uint32_t lane, uint32_t row0,
                                                                   uint32_t row1, uint32_t row2,
                                                                   uint32_t row3, uint32_t key)
    {
        uint32_t w0 = word<0>(row0, lane), w1 = word<1>(row1, lane);
        uint32_t w2 = word<2>(row2, lane), w3 = word<3>(row3, lane);
        uint32_t low = __byte_perm(w0, w1, 0x5410) ^ __byte_perm(w0, w1, 0x7632);
        uint32_t high = __byte_perm(w2, w3, 0x5410) ^ __byte_perm(w2, w3, 0x7632);
        return xor3(__byte_perm(low, high, 0x6420), __byte_perm(low, high, 0x7531), key);
    }
};

/*
 * Copies a table to shared memory, TABLES times rotated, LANES copies of each. A
 * warp takes 32 entries, and four of them at a time, 16 bytes a lane; unrolled,
 * so that it waits for memory only once.
 */
template <int TABLES> static __device__ __forceinline__ void fill_tables(const uint32_t *constant)
{
    const uint32_t *table = read_by_lanes(constant);
    enum { LINE = LANES / 4 }; /* vectors that an entry takes */
    uint32_t lane = threadIdx.x % LANES;
    for (uint32_t line = threadIdx.x - lane; line < 256 * TABLES; line += blockDim.x) {
        const uint32_t *from = &table[line % 256 + lane / LINE];
        uint4 *to = reinterpret_cast<uint4 *>(shared_words) + line * LINE + lane;
        uint32_t entry[LINE]; /* all of them under way at once */
#pragma unroll
        for (uint32_t i = 0; i < LINE; i++)
            entry[i] = from[i * 4];
#pragma unroll
        for (uint32_t i = 0; i < LINE; i++) {
            uint32_t w = __funnelshift_l(entry[i], entry[i], line / 256 * 8);
            to[i * 4 * LINE] = make_uint4(w, w, w, w);
        }
    }
    __syncthreads();
}

template <int TABLES>
static __device__ __forceinline__ aes_state encrypt_round(uint32_t lane, aes_state s, aes_state key)
{
    using T = aes_lookup<TABLES>;
    return {T::column(lane, s.c0, s.c1, s.c2, s.c3, key.c0),
            T::column(lane, s.c1, s.c2, s.c3, s.c0, key.c1),
            T::column(lane, s.c2, s.c3, s.c0, s.c1, key.c2),
            T::column(lane, s.c3, s.c0, s.c1, s.c2, key.c3)};
}

/* As encrypt_round() with inverse tables; InvShiftRows moves the other way. */
template <int TABLES>
static __device__ __forceinline__ aes_state decrypt_round(uint32_t lane, aes_state s, aes_state key)
{
    using T = aes_lookup<TABLES>;
    return {T::column(lane, s.c0, s.c3, s.c2, s.c1, key.c0),
            T::column(lane, s.c1, s.c0, s.c3, s.c2, key.c1),
            T::column(lane, s.c2, s.c1, s.c0, s.c3, key.c2),
            T::column(lane, s.c3, s.c2, s.c1, s.c0, key.c3)};
}

/* The last round of encryption. */
template <int TABLES>
static __device__ __forceinline__ aes_state encrypt_last(uint32_t lane, aes_state s, aes_state key)
{
    using T = aes_lookup<TABLES>;
    return {T::last_column(lane, s.c0, s.c1, s.c2, s.c3, key.c0),
            T::last_column(lane, s.c1, s.c2, s.c3, s.c0, key.c1),
            T::last_column(lane, s.c2, s.c3, s.c0, s.c1, key.c2),
            T::last_column(lane, s.c3, s.c0, s.c1, s.c2, key.c3)};
}

/* The last round of decryption. */
template <int TABLES>
static __device__ __forceinline__ aes_state decrypt_last(uint32_t lane, aes_state s, aes_state key)
{
    using T = aes_lookup<TABLES>;
    return {T::last_inverse_column(lane, s.c0, s.c3, s.c2, s.c1, key.c0),
            T::last_inverse_column(lane, s.c1, s.c0, s.c3, s.c2, key.c1),
            T::last_inverse_column(lane, s.c2, s.c1, s.c0, s.c3, key.c2),
            T::last_inverse_column(lane, s.c3, s.c2, s.c1, s.c0, key.c3)};
}

/*
 * Runs rounds FIRST to the last on a state that has passed the rounds before. KEY is any
 * type that has a round_key().
 */
template <int TABLES, int ROUNDS, int FIRST, class KEY>
static __device__ __forceinline__ aes_state encrypt_from(uint32_t lane, aes_state s, const KEY &key)
{
#pragma unroll
    for (int round = FIRST; round < ROUNDS; round++)
        s = encrypt_round<TABLES>(lane, s, round_key(key, round));
    return encrypt_last<TABLES>(lane, s, round_key(key, ROUNDS));
}

template <int TABLES, int ROUNDS, class KEY>
static __device__ __forceinline__ aes_state encrypt_block(uint32_t lane, aes_state s,
                                                          const KEY &key)
{
    return encrypt_from<TABLES, ROUNDS, 1>(lane, s ^ round_key(key, 0), key);
}

/* The equivalent inverse cipher, FIPS 197 section 5.3.5. */
template <int TABLES, int ROUNDS, class KEY>
static __device__ __forceinline__ aes_state decrypt_block(uint32_t lane, aes_state s,
                                                          const KEY &key)
{
    s = s ^ round_key(key, 0);
#pragma unroll
    for (int round = 1; round < ROUNDS; round++)
        s = decrypt_round<TABLES>(lane, s, round_key(key, round));
    return decrypt_last<TABLES>(lane, s, round_key(key, ROUNDS));
}

#endif
