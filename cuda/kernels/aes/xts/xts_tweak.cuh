/*
 * Tweaks of XTS, IEEE Std 1619 section 5.3: that of block j is the encrypted tweak times x^j, in
 * GF(2^128) modulo x^128 + x^7 + x^2 + x + 1. Bit i of the little-endian number is the coefficient
 * of x^i.
 *
 * Exponents are public, tweaks are not: time and addresses depend on exponents alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_XTS_TWEAK_CUH
#define GPUAES_KERNELS_XTS_TWEAK_CUH

#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

/* ---- Powers of x ---------------------------------------------------------- */

enum { XTS_POWERS = 57 }; /* for any number of rows */

/* power[n] is x^(128 * 2^n), the lowest word first. */
struct xts_powers {
    uint32_t power[XTS_POWERS][4];
};

static constexpr void xts_times_x(uint32_t (&a)[4])
{
    uint32_t carry = a[3] >> 31;
    for (int i = 3; i > 0; i--)
        a[i] = a[i] << 1 | a[i - 1] >> 31;
    a[0] = a[0] << 1 ^ carry * 0x87;
}

static constexpr xts_powers make_xts_powers()
{
    xts_powers p = {};
    p.power[0][0] = 0x87; /* x^128 */
    for (int n = 1; n < XTS_POWERS; n++) {
        uint32_t shifted[4] = {};
        for (int i = 0; i < 4; i++)
            shifted[i] = p.power[n - 1][i];
        for (int bit = 0; bit < 128; bit++) {
            uint32_t has = p.power[n - 1][bit / 32] >> bit % 32 & 1;
            for (int i = 0; i < 4; i++)
                p.power[n][i] ^= has * shifted[i];
            xts_times_x(shifted);
        }
    }
    return p;
}

static __constant__ const xts_powers constant_powers = make_xts_powers();

/* ---- Products ------------------------------------------------------------- */

/* Adds `over` times x^128. */
static __device__ __forceinline__ aes_state fold(aes_state t, uint32_t over)
{
    t.c0 ^= xor3(over, over << 1, over << 2) ^ over << 7;
    t.c1 ^= xor3(over >> 31, over >> 30, over >> 25);
    return t;
}

static __device__ __forceinline__ aes_state times_x32(aes_state t)
{
    return fold({0, t.c0, t.c1, t.c2}, t.c3);
}

/* Times x^bits, with `bits` below 32. */
static __device__ __forceinline__ aes_state times_x(aes_state t, uint32_t bits)
{
    aes_state shifted = {t.c0 << bits, __funnelshift_l(t.c0, t.c1, bits),
                         __funnelshift_l(t.c1, t.c2, bits), __funnelshift_l(t.c2, t.c3, bits)};
    return fold(shifted, __funnelshift_l(t.c3, 0, bits));
}

/* By a power that is the same in all lanes of a converged warp, as `t` is: each takes four bits. */
static __device__ __forceinline__ aes_state multiply_together(aes_state t, const uint32_t *power)
{
    uint32_t lane = threadIdx.x % LANES, bits = power[lane / 8] >> lane % 8 * 4;
    aes_state sum = {};
    t = times_x(t, lane % 8 * 4);
#pragma unroll
    for (uint32_t word = 1; word < 4; word++) {
        aes_state next = times_x32(t);
        t = lane / 8 >= word ? next : t;
    }
#pragma unroll
    for (int bit = 0; bit < 4; bit++) {
        uint32_t mask = 0 - (bits >> bit & 1);
        sum = sum ^ aes_state { t.c0 &mask, t.c1 &mask, t.c2 &mask, t.c3 &mask };
        t = times_x(t, 1);
    }
#pragma unroll
    for (uint32_t other = LANES / 2; other != 0; other /= 2)
        sum = sum ^ shuffle(sum, lane ^ other);
    return sum;
}

/* Times x^(32 * rows), where `t` and `rows` are the same in all lanes of a converged warp. */
static __device__ __forceinline__ aes_state move_by_rows(aes_state t, uint64_t rows)
{
    const uint32_t(*power)[4] = constant_powers.power;
#pragma unroll 1
    for (uint64_t left = rows / 4; left != 0; left /= 2, power++)
        if (left % 2 != 0)
            t = multiply_together(t, *power);
#pragma unroll 1
    for (uint32_t left = rows % 4; left != 0; left--)
        t = times_x32(t);
    return t;
}

/* The tweak of each lane's block in row `row`, of 32 blocks, of a converged warp. */
static __device__ __forceinline__ aes_state row_tweak(const aes_arguments &a, uint64_t row)
{
    return times_x(move_by_rows({a.iv[0], a.iv[1], a.iv[2], a.iv[3]}, row), threadIdx.x % LANES);
}

#endif
