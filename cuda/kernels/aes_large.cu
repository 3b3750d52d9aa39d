/*
 * AES for large work: four tables in 128 KiB of shared memory, one block of
 * 1024 threads a multiprocessor, a persistent grid.
 *
 * Tables lie as [half][x][t][lane] words: rows 0 and 1 in the lower half, rows
 * 2 and 3 in the upper. Byte x of a word, put above the lane's offset by one
 * PRMT, is then the whole address of a lookup; the table is an immediate
 * offset of the load, and no table needs a rotation. A round is 16 loads and
 * 24 ALU instructions a block: bound by the shared-memory port.
 *
 * Needs a device that gives a block 128 KiB (136 KiB to decrypt).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "aes_rounds.cuh"

namespace
{

struct large_tables {
    static constexpr uint32_t inverse_sbox = AES_LARGE_SHARED;

    template <int ROW> static __device__ __forceinline__ uint32_t table(uint32_t x, uint32_t lane)
    {
        constexpr uint32_t offset = (ROW / 2) * 65536 + (ROW % 2) * 128;
        return shared_word(offset + __byte_perm(x, lane, 0x7604 | ROW << 4));
    }

    /* Each byte of te is S(x) times 1, 2 or 3: take it where it is times 1. */
    static __device__ __forceinline__ uint32_t substitute(uint32_t lane, uint32_t row0,
                                                          uint32_t row1, uint32_t row2,
                                                          uint32_t row3)
    {
        uint32_t s0 = shared_word(65536 + __byte_perm(row0, lane, 0x7604)); /* byte 0 of table 2 */
        uint32_t s1 = shared_word(__byte_perm(row1, lane, 0x7614));         /* byte 1 of table 0 */
        uint32_t s2 = shared_word(__byte_perm(row2, lane, 0x7624));         /* byte 2 of table 0 */
        uint32_t s3 = shared_word(128 + __byte_perm(row3, lane, 0x7634));   /* byte 3 of table 1 */
        return __byte_perm(__byte_perm(s0, s1, 0x0050), __byte_perm(s2, s3, 0x7200), 0x7610);
    }
};

__device__ __forceinline__ void fill_large(const uint32_t *table)
{
    for (uint32_t i = threadIdx.x; i < AES_LARGE_SHARED / 4; i += blockDim.x) {
        uint32_t row = (i >> 14) * 2 + (i >> 5 & 1);
        uint32_t word = table[i >> 6 & 255];
        shared_words[i] = __funnelshift_l(word, word, 8 * row);
    }
}

/*
 * CTR, a warp a tile of 256 counters that differ in byte 15 alone. Then round
 * 1 changes one column only and round 2 one byte of each, so that most of both
 * is computed once a tile: 197 of 224 lookups a block are left (AES-256). The
 * tiles at both ends may be partial.
 */
struct tile {
    uint32_t column0; /* of round 1, without the byte that varies */
    aes_state round2; /* without what column 0 contributes */
    uint32_t key15;
};

__device__ __forceinline__ tile begin_tile(uint32_t lane, counter base,
                                           const aes_arguments &arguments)
{
    using T = large_tables;
    aes_state s = counter_block(base) ^ round_key(arguments, 0);
    aes_state k1 = round_key(arguments, 1), k2 = round_key(arguments, 2);
    tile t;
    t.key15 = arguments.round_key[3] >> 24;
    t.column0 =
        xor3(T::table<0>(s.c0, lane), T::table<1>(s.c1, lane), T::table<2>(s.c2, lane)) ^ k1.c0;
    uint32_t t1 = mix_column<T>(lane, s.c1, s.c2, s.c3, s.c0, k1.c1);
    uint32_t t2 = mix_column<T>(lane, s.c2, s.c3, s.c0, s.c1, k1.c2);
    uint32_t t3 = mix_column<T>(lane, s.c3, s.c0, s.c1, s.c2, k1.c3);
    t.round2.c0 = xor3(T::table<1>(t1, lane), T::table<2>(t2, lane), T::table<3>(t3, lane)) ^ k2.c0;
    t.round2.c1 = xor3(T::table<0>(t1, lane), T::table<1>(t2, lane), T::table<2>(t3, lane)) ^ k2.c1;
    t.round2.c2 = xor3(T::table<0>(t2, lane), T::table<1>(t3, lane), T::table<3>(t1, lane)) ^ k2.c2;
    t.round2.c3 = xor3(T::table<0>(t3, lane), T::table<2>(t1, lane), T::table<3>(t2, lane)) ^ k2.c3;
    return t;
}

/* The state after round 2 of counter number `byte15` of the tile. */
__device__ __forceinline__ aes_state after_round2(uint32_t lane, const tile &t, uint32_t byte15)
{
    using T = large_tables;
    uint32_t c0 = t.column0 ^ T::table<3>((byte15 ^ t.key15) << 24, lane);
    return {t.round2.c0 ^ T::table<0>(c0, lane), t.round2.c1 ^ T::table<3>(c0, lane),
            t.round2.c2 ^ T::table<2>(c0, lane), t.round2.c3 ^ T::table<1>(c0, lane)};
}

template <int ROUNDS> __device__ __forceinline__ void ctr_large(const aes_arguments &arguments)
{
    uint32_t lane = lane_offset();
    uint32_t first = arguments.iv[3] >> 24; /* counters of tile 0 before ours */
    counter base = first_counter(arguments);
    base.low -= first;
    uint64_t tiles = (arguments.blocks + first + 255) / 256;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * (blockDim.x / LANES);
    for (uint64_t n =
             static_cast<uint64_t>(blockIdx.x) * (blockDim.x / LANES) + threadIdx.x / LANES;
         n < tiles; n += stride) {
        tile t = begin_tile(lane, advance(base, n * 256), arguments);
#pragma unroll 2
        for (uint32_t j = 0; j < 256; j += LANES) {
            uint32_t byte15 = j + threadIdx.x % LANES;
            uint64_t i = n * 256 + byte15 - first; /* wraps before the first block */
            if (i < arguments.blocks)
                store_keystream(arguments, i,
                                encrypt_from<large_tables, ROUNDS, 3>(
                                    lane, after_round2(lane, t, byte15), arguments));
        }
    }
}

} // namespace

/* Names that the host finds kernels by: aes_MODE_large_ROUNDS. */
#define LARGE(rounds)                                                                              \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        aes_ecb_encrypt_large_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        fill_large(constant_tables.te);                                                            \
        __syncthreads();                                                                           \
        ecb_encrypt<large_tables, rounds>(arguments);                                              \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        aes_ctr_large_##rounds(const __grid_constant__ aes_arguments arguments)                    \
    {                                                                                              \
        fill_large(constant_tables.te);                                                            \
        __syncthreads();                                                                           \
        ctr_large<rounds>(arguments);                                                              \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        aes_ecb_decrypt_large_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        fill_large(constant_tables.td);                                                            \
        fill_inverse_sbox<large_tables>();                                                         \
        __syncthreads();                                                                           \
        ecb_decrypt<large_tables, rounds>(arguments);                                              \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        aes_cbc_decrypt_large_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        fill_large(constant_tables.td);                                                            \
        fill_inverse_sbox<large_tables>();                                                         \
        __syncthreads();                                                                           \
        cbc_decrypt<large_tables, rounds>(arguments);                                              \
    }                                                                                              \
    KERNEL(aes_ecb_encrypt_large_##rounds)                                                         \
    KERNEL(aes_ctr_large_##rounds)                                                                 \
    KERNEL(aes_ecb_decrypt_large_##rounds)                                                         \
    KERNEL(aes_cbc_decrypt_large_##rounds)

LARGE(10)
LARGE(12)
LARGE(14)
