/*
 * GHASH, NIST SP 800-38D section 6.4, by carry-less multiplication.
 *
 * A block is the big-endian number of its 16 bytes, whose highest bit is the coefficient of x^0.
 * Factors are kept times x, as POLYVAL has them (RFC 8452 appendix A): a product of 256 bits is
 * then reduced by two multiplications with a constant of 64 bits. Time does not depend on data.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_GHASH_CUH
#define GPUAES_KERNELS_GHASH_CUH

#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

struct ghash_element {
    uint64_t low, high;
};

static __device__ __forceinline__ ghash_element operator^(ghash_element a, ghash_element b)
{
    return {a.low ^ b.low, a.high ^ b.high};
}

static __device__ __forceinline__ ghash_element to_element(aes_state s)
{
    return {static_cast<uint64_t>(swap_bytes(s.c2)) << 32 | swap_bytes(s.c3),
            static_cast<uint64_t>(swap_bytes(s.c0)) << 32 | swap_bytes(s.c1)};
}

static __device__ __forceinline__ aes_state to_block(ghash_element e)
{
    return {
        swap_bytes(static_cast<uint32_t>(e.high >> 32)), swap_bytes(static_cast<uint32_t>(e.high)),
        swap_bytes(static_cast<uint32_t>(e.low >> 32)), swap_bytes(static_cast<uint32_t>(e.low))};
}

/* As it lies in memory. */
static __device__ __forceinline__ uint4 to_words(ghash_element e)
{
    return make_uint4(static_cast<uint32_t>(e.low), static_cast<uint32_t>(e.low >> 32),
                      static_cast<uint32_t>(e.high), static_cast<uint32_t>(e.high >> 32));
}

/* A sum of products, not reduced yet; the lowest word first. */
struct ghash_sum {
    uint64_t word[4];
};

static __device__ __forceinline__ void add_product(ghash_sum &s, ghash_element a, ghash_element b)
{
    s.word[0] = clmad_low(a.low, b.low, s.word[0]);
    s.word[1] = clmad_high(a.low, b.low, s.word[1]);
    s.word[1] = clmad_low(a.high, b.low, s.word[1]);
    s.word[1] = clmad_low(a.low, b.high, s.word[1]);
    s.word[2] = clmad_high(a.high, b.low, s.word[2]);
    s.word[2] = clmad_high(a.low, b.high, s.word[2]);
    s.word[2] = clmad_low(a.high, b.high, s.word[2]);
    s.word[3] = clmad_high(a.high, b.high, s.word[3]);
}

static __device__ __forceinline__ ghash_element reduce(ghash_sum s)
{
    const uint64_t polynomial = 0xc200000000000000;
    s.word[1] = clmad_low(s.word[0], polynomial, s.word[1]);
    s.word[2] = clmad_high(s.word[0], polynomial, s.word[2] ^ s.word[0]);
    s.word[2] = clmad_low(s.word[1], polynomial, s.word[2]);
    s.word[3] = clmad_high(s.word[1], polynomial, s.word[3] ^ s.word[1]);
    return {s.word[2], s.word[3]};
}

/* The product of an element and a factor; of two factors, another factor. */
static __device__ __forceinline__ ghash_element multiply(ghash_element a, ghash_element b)
{
    ghash_sum s = {};
    add_product(s, a, b);
    return reduce(s);
}

/* The factor that changes nothing. */
static __device__ __forceinline__ ghash_element ghash_one()
{
    return {1, 0xc200000000000000};
}

#endif
