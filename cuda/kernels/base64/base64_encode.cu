/*
 * Base64 encoding: each thread makes 16 characters at an aligned address.
 *
 * Four 6-bit values, one per byte of a word, become four characters by
 * arithmetic on the word: there is no table. Neither branches nor addresses
 * depend on the data, only on lengths and positions.
 *
 * "Plain" counts the characters without line ends.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/intrinsics.cuh"

/* What a thread makes at a time, what the body leaves to the edge at the end, a cache line. */
enum { BASE64_VECTOR = 16, BASE64_TAIL = 32, BASE64_LINE = 128 };

/* 0x01 in each byte of `values` (each under 64) that is at least `limit`. */
static __device__ __forceinline__ uint32_t base64_at_least(uint32_t values, uint32_t limit)
{
    return ((values + (128 - limit) * 0x01010101u) >> 7) & 0x01010101u;
}

/* Four values to their characters. */
static __device__ __forceinline__ uint32_t base64_characters(uint32_t values)
{
    uint32_t last_two = base64_at_least(values, 62);

    /* From 'A': the steps to 'a' - 26, '0' - 52, '+' - 62 and '/' - 63. No byte overflows. */
    return values + 0x41414141u + 6 * base64_at_least(values, 26) -
           75 * base64_at_least(values, 52) - 15 * last_two + 3 * (last_two & values);
}

/*
 * Three bytes b0 b1 b2, given as the word b1 b0 b2 b1 (first the lowest byte),
 * to four characters.
 */
static __device__ __forceinline__ uint32_t base64_quad(uint32_t w)
{
    return base64_characters((w >> 10 & 0x3fu) | (w << 4 & 0x3f00u) | (w >> 6 & 0x3f0000u) |
                             (w << 8 & 0x3f000000u));
}

/* The first twelve bytes of a stream of words to four words of characters. */
static __device__ __forceinline__ void base64_four_quads(uint32_t quad[4], uint32_t a, uint32_t b,
                                                         uint32_t c)
{
    quad[0] = base64_quad(__byte_perm(a, 0, 0x1201));
    quad[1] = base64_quad(__byte_perm(a, b, 0x4534));
    quad[2] = base64_quad(__byte_perm(b, c, 0x3423));
    quad[3] = base64_quad(__byte_perm(c, 0, 0x2312));
}

/* ---- Positions -------------------------------------------------------------- */

/* Where a position of the output lies; column line_length is the line end. */
struct base64_place {
    uint64_t plain;
    uint32_t column;
};

static __device__ __forceinline__ struct base64_place
base64_place_of(const struct base64_encode_arguments &arguments, uint64_t position)
{
    uint32_t period = arguments.line_length + 1;
    uint64_t line = __umul64hi(position, arguments.reciprocal); /* or one less */
    struct base64_place place;

    if (arguments.line_length == 0)
        return {position, 0};
    if (position - line * period >= period)
        line++;
    place.plain = position - line;
    place.column = static_cast<uint32_t>(position - line * period);
    return place;
}

/*
 * The body of the output: the aligned vectors begin .. end - 1, counted from
 * `origin`, where a cache line begins, so that a warp writes whole lines. At least
 * one character is before it, and it ends so early that what a thread of it reads
 * is inside the input.
 */
struct base64_body {
    uint64_t origin, begin, end;
};

/* The position in the output of a vector of the body. */
static __device__ __forceinline__ uint64_t
base64_position(const struct base64_encode_arguments &arguments, const struct base64_body &body,
                uint64_t vector)
{
    return body.origin + BASE64_VECTOR * vector - arguments.out;
}

static __device__ __forceinline__ struct base64_body
base64_body_of(const struct base64_encode_arguments &arguments)
{
    uint64_t from = arguments.out % BASE64_LINE, last = from + arguments.characters;
    uint64_t begin = from / BASE64_VECTOR + 1;
    /* A vector has one line end at most. */
    bool sparse = arguments.line_length == 0 || arguments.line_length >= BASE64_VECTOR;
    bool exists = sparse && last >= BASE64_VECTOR * begin + BASE64_TAIL;

    return {arguments.out - from, begin, exists ? (last - BASE64_TAIL) / BASE64_VECTOR + 1 : begin};
}

/* The first vector of a thread: a block may begin before the body does. */
static __device__ __forceinline__ uint64_t base64_first_vector(const struct base64_body &body,
                                                               uint64_t first, uint64_t stride)
{
    while (first < body.begin)
        first += stride;
    return first;
}

/* ---- Edges: a character a thread --------------------------------------------- */

static __device__ __forceinline__ unsigned char
base64_character(const struct base64_encode_arguments &arguments, uint64_t position)
{
    const unsigned char *in = reinterpret_cast<const unsigned char *>(arguments.in);
    struct base64_place place = base64_place_of(arguments, position);
    uint32_t bit = 6 * static_cast<uint32_t>(place.plain & 3);
    uint64_t at = place.plain / 4 * 3 + bit / 8;
    uint32_t bits;

    if (arguments.line_length &&
        (place.column == arguments.line_length || position + 1 == arguments.characters))
        return '\n';
    if (at >= arguments.bytes)
        return '=';
    bits = static_cast<uint32_t>(in[at]) << 8 | (at + 1 < arguments.bytes ? in[at + 1] : 0u);
    return static_cast<unsigned char>(base64_characters(bits >> (10 - bit % 8) & 0x3fu));
}

static __device__ __forceinline__ void
base64_encode_edges(const struct base64_encode_arguments &arguments, const struct base64_body &body,
                    uint64_t first, uint64_t stride)
{
    unsigned char *out = reinterpret_cast<unsigned char *>(arguments.out);
    uint64_t head = base64_position(arguments, body, body.begin);
    uint64_t middle = BASE64_VECTOR * (body.end - body.begin);

    for (uint64_t i = first; i < arguments.characters - middle; i += stride) {
        uint64_t position = i < head ? i : i + middle;

        out[position] = base64_character(arguments, position);
    }
}

/* ---- Bodies ------------------------------------------------------------------- */

/* Without lines, vectors that begin a quad: every thread reads at the same byte of a word. */
static __device__ __forceinline__ void
base64_encode_quads(const struct base64_encode_arguments &arguments, const struct base64_body &body,
                    uint64_t first, uint64_t stride)
{
    /* Modulo 2^64: before the input where the body begins behind the origin. */
    uint64_t from = arguments.in - arguments.out % BASE64_LINE / 4 * 3;
    uint32_t shift = 8 * static_cast<uint32_t>(from & 3);
    const uint32_t *in = reinterpret_cast<const uint32_t *>(from & ~UINT64_C(3));
    uint4 *out = reinterpret_cast<uint4 *>(body.origin);
    uint32_t quad[4];

    first = base64_first_vector(body, first, stride);
#pragma unroll 1
    for (uint64_t i = first; i < body.end; i += stride) {
        uint32_t a = __ldg(&in[3 * i]), b = __ldg(&in[3 * i + 1]), c = __ldg(&in[3 * i + 2]);

        if (shift) {
            a = __funnelshift_r(a, b, shift);
            b = __funnelshift_r(b, c, shift);
            c = __funnelshift_r(c, __ldg(&in[3 * i + 3]), shift);
        }
        base64_four_quads(quad, a, b, c);
        out[i] = make_uint4(quad[0], quad[1], quad[2], quad[3]);
    }
}

/* Five quads, of the fifteen bytes at an address. */
static __device__ __forceinline__ void base64_five_quads(uint32_t quad[5], uint64_t from)
{
    const uint32_t *in = reinterpret_cast<const uint32_t *>(from & ~UINT64_C(3));
    uint32_t shift = 8 * static_cast<uint32_t>(from & 3), stream[4];

#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        stream[k] = __funnelshift_r(__ldg(&in[k]), __ldg(&in[k + 1]), shift);
    base64_four_quads(quad, stream[0], stream[1], stream[2]);
    quad[4] = base64_quad(__byte_perm(stream[3], 0, 0x1201));
}

/*
 * The sixteen characters from quad[0] on, less the first `skip` (1 to 4), with a
 * line end in front of number `end`, if that is below 16. A line ends where a
 * quad does.
 */
static __device__ __forceinline__ uint4 base64_with_line_end(const uint32_t quad[5], uint32_t skip,
                                                             uint32_t end)
{
    uint32_t selector = 0x3210u + 0x1111u * skip, text[4];

#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        uint32_t next = quad[k + 1];

        if (end / 4 == k)
            next = next << 8 | '\n';
        text[k] = __byte_perm(quad[k], next, end / 4 < k ? selector - 0x1111u : selector);
    }
    return make_uint4(text[0], text[1], text[2], text[3]);
}

/* With lines, or where vectors begin inside a quad. */
static __device__ __forceinline__ void
base64_encode_lines(const struct base64_encode_arguments &arguments, const struct base64_body &body,
                    uint64_t first, uint64_t stride)
{
    uint32_t end_column = arguments.line_length ? arguments.line_length : UINT32_MAX;
    struct base64_place step = base64_place_of(arguments, BASE64_VECTOR * stride), place;
    uint4 *out = reinterpret_cast<uint4 *>(body.origin);
    uint32_t quad[5];

    first = base64_first_vector(body, first, stride);
    place = base64_place_of(arguments, base64_position(arguments, body, first));
#pragma unroll 1
    for (uint64_t i = first; i < body.end; i += stride) {
        uint64_t before = place.plain - 1;

        base64_five_quads(quad, arguments.in + before / 4 * 3);
        out[i] = base64_with_line_end(quad, static_cast<uint32_t>(before & 3) + 1,
                                      end_column - place.column);
        place.plain += step.plain;
        place.column += step.column;
        if (place.column > end_column) {
            place.column -= end_column + 1;
            place.plain--;
        }
    }
}

extern "C" __global__ void
base64_encode(const __grid_constant__ struct base64_encode_arguments arguments)
{
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    struct base64_body body = base64_body_of(arguments);

    if (arguments.line_length == 0 && arguments.out % 4 == 0)
        base64_encode_quads(arguments, body, first, stride);
    else
        base64_encode_lines(arguments, body, first, stride);
    base64_encode_edges(arguments, body, first, stride);
}
KERNEL(base64_encode)
