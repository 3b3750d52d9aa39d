/*
 * Bitsliced AES: eight blocks a lane as 32 planes, a word each.
 *
 * plane[8 * row + bit] has that bit of a row of the state (FIPS 197 section
 * 3.4): byte c of the word is column c, and bit j of that byte is block j. All
 * is logic on words: no tables, no branches, so neither time nor addresses
 * depend on data or key.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_BITSLICE_CUH
#define GPUAES_KERNELS_BITSLICE_CUH

#include "cuda/kernels/aes/aes_sbox_circuits.cuh"

enum { PLANES = 32, BITSLICED_BLOCKS = 8 };

/* ---- Blocks to planes and back -------------------------------------------- */

/* Exchanges the upper SHIFT bits of each 2 * SHIFT of `a` with the lower of `b`. */
template <int SHIFT> static __device__ __forceinline__ void exchange_bits(uint32_t &a, uint32_t &b)
{
    constexpr uint32_t low = SHIFT == 4 ? 0x0f0f0f0f : SHIFT == 2 ? 0x33333333 : 0x55555555;
    constexpr uint32_t select = 0xe4; /* the third where it is set, else: a or b */
    uint32_t changed_a = lut3<select>(a, b << SHIFT, low);
    b = lut3<select>(a >> SHIFT, b, low);
    a = changed_a;
}

/* PRMT's selector for bytes x[i], y[j], x[i + 1], y[j + 1], counted modulo 4. */
static __device__ constexpr uint32_t pairs_from(uint32_t i, uint32_t j)
{
    return i % 4 | (4 + j % 4) << 4 | (i + 1) % 4 << 8 | (4 + (j + 1) % 4) << 12;
}

/* PRMT's selector for bytes x[i], x[i + 1], x[i + 2], x[i + 3], counted modulo 4. */
static __device__ constexpr uint32_t bytes_from(uint32_t i)
{
    return i % 4 | (i + 1) % 4 << 4 | (i + 2) % 4 << 8 | (i + 3) % 4 << 12;
}

/*
 * Four rows become four columns (or the other way round), row r rotated by
 * r * TURN bytes before: 1 for ShiftRows, 3 for InvShiftRows.
 */
template <uint32_t TURN>
static __device__ __forceinline__ void transpose_bytes(uint32_t &a, uint32_t &b, uint32_t &c,
                                                       uint32_t &d)
{
    uint32_t ab = __byte_perm(a, b, pairs_from(0, TURN));
    uint32_t ab2 = __byte_perm(a, b, pairs_from(2, 2 + TURN));
    uint32_t cd = __byte_perm(c, d, pairs_from(2 * TURN, 3 * TURN));
    uint32_t cd2 = __byte_perm(c, d, pairs_from(2 + 2 * TURN, 2 + 3 * TURN));
    a = __byte_perm(ab, cd, 0x5410);
    b = __byte_perm(ab, cd, 0x7632);
    c = __byte_perm(ab2, cd2, 0x5410);
    d = __byte_perm(ab2, cd2, 0x7632);
}

/* Column c of block j is s[8 * c + j]; becomes planes. */
static __device__ __forceinline__ void to_planes(uint32_t s[PLANES])
{
#pragma unroll
    for (int c = 0; c < 4; c++) {
        uint32_t *q = s + 8 * c;
#pragma unroll
        for (int j = 0; j < 4; j++)
            exchange_bits<4>(q[j], q[j + 4]);
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            exchange_bits<2>(q[j], q[j + 2]);
            exchange_bits<2>(q[j + 1], q[j + 3]);
        }
#pragma unroll
        for (int j = 0; j < 8; j += 2)
            exchange_bits<1>(q[j], q[j + 1]);
    }
#pragma unroll
    for (int p = 0; p < 8; p++)
        transpose_bytes<0>(s[p], s[8 + p], s[16 + p], s[24 + p]);
}

/* The way back in two steps, since few blocks can be written at once: first all... */
template <uint32_t TURN> static __device__ __forceinline__ void from_planes(uint32_t s[PLANES])
{
#pragma unroll
    for (int p = 0; p < 8; p++)
        transpose_bytes<TURN>(s[p], s[8 + p], s[16 + p], s[24 + p]);
#pragma unroll
    for (int c = 0; c < 4; c++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            exchange_bits<4>(s[8 * c + j], s[8 * c + j + 4]);
}

/* ... then blocks `half` to half + 3, half being 0 or 4. */
static __device__ __forceinline__ void from_planes_half(uint32_t s[PLANES], int half)
{
#pragma unroll
    for (int c = 0; c < 4; c++) {
        uint32_t *q = s + 8 * c + half;
        exchange_bits<2>(q[0], q[2]);
        exchange_bits<2>(q[1], q[3]);
        exchange_bits<1>(q[0], q[1]);
        exchange_bits<1>(q[2], q[3]);
    }
}

/* 0xff in each byte of the result whose bit `bit` is set in x. */
static __device__ __forceinline__ uint32_t spread_bit(uint32_t x, int bit)
{
    return byte_signs(x << (7 - bit));
}

/* ---- Rounds ----------------------------------------------------------------- */

static __device__ __forceinline__ void sub_bytes(uint32_t s[PLANES])
{
#pragma unroll
    for (int row = 0; row < 4; row++)
        sbox_circuit(s + 8 * row);
}

static __device__ __forceinline__ void inverse_sub_bytes(uint32_t s[PLANES])
{
#pragma unroll
    for (int row = 0; row < 4; row++)
        inverse_sbox_circuit(s + 8 * row);
}

/* Row r is rotated by r * TURN columns: 1 for ShiftRows, 3 for InvShiftRows. */
template <uint32_t TURN> static __device__ __forceinline__ void shift_rows(uint32_t s[PLANES])
{
#pragma unroll
    for (int row = 1; row < 4; row++)
#pragma unroll
        for (int p = 0; p < 8; p++) {
            uint32_t *q = &s[8 * row + p];
            *q = __byte_perm(*q, 0, bytes_from(row * TURN));
        }
}

/*
 * MixColumns and AddRoundKey. Row r becomes 2 (s[r] + s[r+1]) + s[r+1] + (s[r+2] + s[r+3]),
 * from the highest plane down, so that each sum of two rows is made once.
 */
static __device__ __forceinline__ void mix_columns(uint32_t s[PLANES], const uint32_t key[PLANES])
{
    uint32_t top[4], sum[4]; /* of rows r and r + 1: of plane 7, of this plane */
#pragma unroll
    for (int r = 0; r < 4; r++)
        sum[r] = top[r] = s[8 * r + 7] ^ s[8 * ((r + 1) % 4) + 7];
#pragma unroll
    for (int p = 7; p >= 0; p--) {
        uint32_t below[4], result[4];
#pragma unroll
        for (int r = 0; r < 4; r++)
            below[r] = p != 0 ? s[8 * r + p - 1] ^ s[8 * ((r + 1) % 4) + p - 1] : top[r];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            uint32_t mixed = xor3(below[r], s[8 * ((r + 1) % 4) + p], sum[(r + 2) % 4]);
            bool reduced = p == 1 || p == 3 || p == 4; /* x^8 = x^4 + x^3 + x + 1 */
            result[r] = reduced ? xor3(mixed, top[r], key[8 * r + p]) : mixed ^ key[8 * r + p];
        }
#pragma unroll
        for (int r = 0; r < 4; r++) {
            s[8 * r + p] = result[r];
            sum[r] = below[r];
        }
    }
}

/*
 * The first factor of InvMixColumns = MixColumns * circ(5, 0, 4, 0): adds
 * 4 (s[r] + s[r+2]) to rows r and r + 2.
 */
static __device__ __forceinline__ void premix_columns(uint32_t s[PLANES])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        uint32_t t[8];
#pragma unroll
        for (int p = 0; p < 8; p++)
            t[p] = s[8 * r + p] ^ s[8 * (r + 2) + p];
        uint32_t t67 = t[6] ^ t[7];
#pragma unroll
        for (int row = r; row < 4; row += 2) {
            uint32_t *q = s + 8 * row;
            q[0] ^= t[6];
            q[1] ^= t67;
            q[2] = xor3(q[2], t[0], t[7]);
            q[3] = xor3(q[3], t[1], t[6]);
            q[4] = xor3(q[4], t[2], t67);
            q[5] = xor3(q[5], t[3], t[7]);
            q[6] ^= t[4];
            q[7] ^= t[5];
        }
    }
}

/*
 * Rounds FIRST to the last but for its AddRoundKey, which is cheaper on words.
 * The loop stays rolled: unrolled, the code is too long for the instruction
 * cache, and 10 % slower.
 */
template <bool INVERSE, int FIRST, int ROUNDS>
static __device__ __forceinline__ void bitsliced_rounds(uint32_t s[PLANES],
                                                        const uint32_t keys[][PLANES])
{
    constexpr uint32_t turn = INVERSE ? 3 : 1;
#pragma unroll 1
    for (int round = FIRST; round < ROUNDS; round++) {
        if (INVERSE)
            inverse_sub_bytes(s);
        else
            sub_bytes(s);
        shift_rows<turn>(s);
        if (INVERSE)
            premix_columns(s);
        mix_columns(s, keys[round]);
    }
    if (INVERSE)
        inverse_sub_bytes(s);
    else
        sub_bytes(s);
    from_planes<turn>(s);
}

#endif
