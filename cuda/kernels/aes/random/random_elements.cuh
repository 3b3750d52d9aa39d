/*
 * Random numbers of a block of keystream, and how a warp stores them. cuda/gpuaes.h defines them:
 * enum gpuaes_random_kind.
 *
 * Operations whose results the CPU is to repeat bit by bit are rounded one by one: no compiler may
 * join a product and a sum.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_RANDOM_ELEMENTS_CUH
#define GPUAES_KERNELS_RANDOM_ELEMENTS_CUH

#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

/* ---- Half types -------------------------------------------------------------------- */

static __device__ __forceinline__ bool is_uniform_half(uint32_t kind)
{
    return kind == RANDOM_UNIFORM_FLOAT16 || kind == RANDOM_UNIFORM_BFLOAT16;
}

static __device__ __forceinline__ bool is_bfloat16(uint32_t kind)
{
    return kind == RANDOM_UNIFORM_BFLOAT16 || kind == RANDOM_NORMAL_BFLOAT16 ||
           kind == RANDOM_RANGE_BFLOAT16;
}

/* Bits of a word that are not used: so many, and the type's, are the 24 of a float. */
static __device__ __forceinline__ uint32_t unused_bits(uint32_t kind)
{
    return !is_uniform_half(kind) ? 0 : is_bfloat16(kind) ? 0xffff : 0x7ffff;
}

/*
 * The bits of a float, in a half type: uniform numbers are rounded down, normal ones to nearest.
 * By integers, so that every architecture and the emulator do the same, and without a branch that
 * depends on the number.
 */
static __device__ __forceinline__ uint32_t half_of(uint32_t kind, uint32_t bits)
{
    uint32_t sign = bits >> 31, magnitude = bits & 0x7fffffff, shift = 16, most = 0x7f80;
    if (!is_bfloat16(kind)) {
        /* Below 2^-14, bits stand for multiples of 2^-24; else the exponent has another bias. */
        uint32_t exponent = magnitude >> 23, missing = exponent < 113 ? 113 - exponent : 0;
        uint32_t mantissa = (magnitude & 0x7fffff) | (exponent == 0 ? 0 : 0x800000);
        magnitude = missing ? mantissa : magnitude - (112u << 23);
        shift = missing > 18 ? 31 : 13 + missing;
        most = 0x7c00;
    }
    uint32_t below = (1u << shift) - 1;
    uint32_t up = is_uniform_half(kind) ? sign * below : below / 2 + (magnitude >> shift & 1);
    uint32_t rounded = (magnitude + up) >> shift;
    return sign << 15 | (rounded < most ? rounded : most);
}

/* ---- Numbers ----------------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t join_words(uint32_t low, uint32_t high)
{
    return static_cast<uint64_t>(high) << 32 | low;
}

static __device__ __forceinline__ uint32_t scaled(const random_arguments &a, float x)
{
    return __float_as_uint(__fadd_rn(__fmul_rn(x, a.scale32), a.shift32));
}

static __device__ __forceinline__ uint64_t scaled(const random_arguments &a, double x)
{
    return static_cast<uint64_t>(
        __double_as_longlong(__dadd_rn(__dmul_rn(x, a.scale64), a.shift64)));
}

static __device__ __forceinline__ uint32_t uniform32(const random_arguments &a, uint32_t word)
{
    return scaled(a, static_cast<float>((word & ~unused_bits(a.kind)) >> 8) * 0x1p-24f);
}

static __device__ __forceinline__ uint64_t uniform64(const random_arguments &a, uint64_t word)
{
    return scaled(a, static_cast<double>(word >> 11) * 0x1p-53);
}

/* Box and Muller: two words, two numbers. The logarithm's argument is never 0. */
static __device__ __forceinline__ uint2 normal32(const random_arguments &a, uint32_t distance,
                                                 uint32_t angle)
{
    float sine, cosine;
    float u = __fmaf_rn(static_cast<float>(distance), 0x1p-32f, 0x1p-33f);
    float r = sqrtf(-2 * logf(u));
    sincospif(static_cast<float>(angle >> 8) * 0x1p-23f, &sine, &cosine);
    return make_uint2(scaled(a, r * cosine), scaled(a, r * sine));
}

static __device__ __forceinline__ ulonglong2 normal64(const random_arguments &a, uint64_t distance,
                                                      uint64_t angle)
{
    double sine, cosine;
    double u = __fma_rn(static_cast<double>(distance >> 11), 0x1p-53, 0x1p-54);
    double r = sqrt(-2 * log(u));
    sincospi(static_cast<double>(angle >> 11) * 0x1p-52, &sine, &cosine);
    return make_ulonglong2(scaled(a, r * cosine), scaled(a, r * sine));
}

static __device__ __forceinline__ aes_state from_long(uint64_t low, uint64_t high)
{
    return {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
            static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
}

/* The numbers that a block becomes, of the kinds that take 16 bytes; of half types, floats. */
static __device__ __forceinline__ aes_state numbers_of(const random_arguments &a, aes_state s)
{
    uint64_t low = join_words(s.c0, s.c1), high = join_words(s.c2, s.c3);
    switch (a.kind) {
    case RANDOM_UNIFORM_FLOAT16:
    case RANDOM_UNIFORM_BFLOAT16:
    case RANDOM_UNIFORM32:
        return {uniform32(a, s.c0), uniform32(a, s.c1), uniform32(a, s.c2), uniform32(a, s.c3)};
    case RANDOM_UNIFORM64:
        return from_long(uniform64(a, low), uniform64(a, high));
    case RANDOM_NORMAL_FLOAT16:
    case RANDOM_NORMAL_BFLOAT16:
    case RANDOM_NORMAL32: {
        uint2 first = normal32(a, s.c0, s.c1), second = normal32(a, s.c2, s.c3);
        return {first.x, first.y, second.x, second.y};
    }
    case RANDOM_NORMAL64: {
        ulonglong2 both = normal64(a, low, high);
        return from_long(both.x, both.y);
    }
    default:
        return s;
    }
}

/* Of the kinds that take a word of 64 bits each. */
static __device__ __forceinline__ uint64_t integer_of(const random_arguments &a, uint64_t word)
{
    if (a.kind == RANDOM_BERNOULLI)
        return (word >> 1) < a.threshold ? a.success : 0;
    return a.low + (a.range == 0 ? word : __umul64hi(word, a.range));
}

/* Of a word of 128 bits. */
static __device__ __forceinline__ uint64_t wide_integer_of(const random_arguments &a, uint64_t low,
                                                           uint64_t high)
{
    uint64_t middle = high * a.range;
    uint64_t carry = middle + __umul64hi(low, a.range) < middle;
    return a.low + __umul64hi(high, a.range) + carry;
}

/* ---- Stores ------------------------------------------------------------------------ */

static __device__ __forceinline__ void store_element(const random_arguments &a, uint64_t number,
                                                     uint64_t value)
{
    if (number < a.first || number >= a.end)
        return;
    uint64_t to = a.out + (number - a.first) * a.element_bytes;
    switch (a.element_bytes) {
    case 1:
        *reinterpret_cast<uint8_t *>(to) = static_cast<uint8_t>(value);
        break;
    case 2:
        *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>(value);
        break;
    case 4:
        *reinterpret_cast<uint32_t *>(to) = static_cast<uint32_t>(value);
        break;
    default:
        *reinterpret_cast<uint64_t *>(to) = value;
    }
}

/* The bits of an integer in the type of the elements, which has it. */
static __device__ __forceinline__ uint64_t bits_of(const random_arguments &a, uint64_t integer)
{
    int64_t x = static_cast<int64_t>(integer);
    switch (a.kind) {
    case RANDOM_RANGE_FLOAT16:
    case RANDOM_RANGE_BFLOAT16:
        return half_of(a.kind, __float_as_uint(static_cast<float>(x)));
    case RANDOM_RANGE_FLOAT32:
        return __float_as_uint(static_cast<float>(x));
    case RANDOM_RANGE_FLOAT64:
        return static_cast<uint64_t>(__double_as_longlong(static_cast<double>(x)));
    default:
        return integer;
    }
}

/* What a block becomes: one integer, or two. */
static __device__ __forceinline__ void store_integers(const random_arguments &a, uint64_t block,
                                                      uint64_t low, uint64_t high)
{
    bool wide = a.range > RANDOM_WORD_RANGE;
    uint64_t number = wide ? block : 2 * block;
    store_element(a, number, bits_of(a, wide ? wide_integer_of(a, low, high) : integer_of(a, low)));
    if (!wide)
        store_element(a, number + 1, bits_of(a, integer_of(a, high)));
}

/* What a block becomes of a half type: four elements. */
static __device__ __forceinline__ void store_halves(const random_arguments &a, uint64_t block,
                                                    aes_state s)
{
    store_element(a, 4 * block, half_of(a.kind, s.c0));
    store_element(a, 4 * block + 1, half_of(a.kind, s.c1));
    store_element(a, 4 * block + 2, half_of(a.kind, s.c2));
    store_element(a, 4 * block + 3, half_of(a.kind, s.c3));
}

/* Bytes of `s` that lie from `begin` to `end` - 1, where `s` is the 16 bytes from `at` on. */
static __device__ __forceinline__ void store_between(uint64_t base, uint64_t begin, uint64_t end,
                                                     uint64_t at, aes_state s)
{
#pragma unroll 1
    for (uint64_t i = at; i < at + 16; i++) {
        if (i >= begin && i < end)
            *reinterpret_cast<unsigned char *>(base + i) = static_cast<unsigned char>(s.c0);
        s.c0 = __funnelshift_r(s.c0, s.c1, 8);
        s.c1 = __funnelshift_r(s.c1, s.c2, 8);
        s.c2 = __funnelshift_r(s.c2, s.c3, 8);
        s.c3 >>= 8;
    }
}

/* Elements have so many bytes, of the kinds that take 16 for a block. */
static __device__ __forceinline__ uint32_t width_of(uint32_t kind)
{
    if (kind == RANDOM_BYTES)
        return 1;
    return kind == RANDOM_UNIFORM64 || kind == RANDOM_NORMAL64 ? 8 : 4;
}

/*
 * Stores what blocks `first` + lane of a converged warp become. `first` may be below 0 (it wraps),
 * and blocks beyond the last one are left out.
 */
static __device__ __forceinline__ void store_row(const random_arguments &a, uint64_t first,
                                                 aes_state s)
{
    uint64_t block = first + threadIdx.x % LANES;
    if (a.kind >= RANDOM_UNIFORM_FLOAT16 && a.kind <= RANDOM_NORMAL_BFLOAT16) {
        s = numbers_of(a, s);
        if (block < a.blocks)
            store_halves(a, block, s);
        return;
    }
    if (a.kind >= RANDOM_RANGE) {
        if (block < a.blocks)
            store_integers(a, block, join_words(s.c0, s.c1), join_words(s.c2, s.c3));
        return;
    }
    uint32_t width = width_of(a.kind);
    uint64_t begin = a.first * width, end = a.end * width, base = a.out - begin;
    s = numbers_of(a, s);
    /* Of whole rows alone no lane is at an end. */
    if (first * 16 >= begin && first < a.blocks && end - first * 16 >= 16 * LANES)
        store_blocks(base, a.blocks, first, s);
    else if (block < a.blocks)
        store_between(base, begin, end, block * 16, s);
}

#endif
