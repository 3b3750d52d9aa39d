/*
 * Base64 encoding: each thread makes 16 characters at an aligned address.
 *
 * Four 6-bit values, one per byte of a word, become four characters by
 * arithmetic on the word: there is no table. Neither branches nor addresses
 * depend on the data, only on lengths and positions.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "intrinsics.cuh"

/* 0x01 in each byte of `values` (each under 64) that is at least `limit`. */
static __device__ __forceinline__ uint32_t base64_at_least(uint32_t values, uint32_t limit)
{
    return ((values + (128 - limit) * 0x01010101u) >> 7) & 0x01010101u;
}

/*
 * Three bytes b0 b1 b2, given as the word b1 b0 b2 b1 (first the lowest byte),
 * to four characters.
 */
static __device__ __forceinline__ uint32_t base64_quad(uint32_t w)
{
    uint32_t values =
        (w >> 10 & 0x3fu) | (w << 4 & 0x3f00u) | (w >> 6 & 0x3f0000u) | (w << 8 & 0x3f000000u);

    /* From 'A': the steps to 'a' - 26, '0' - 52, '+' - 62 and '/' - 63. No byte overflows. */
    return values + 0x41414141u + 6 * base64_at_least(values, 26) -
           75 * base64_at_least(values, 52) - 15 * base64_at_least(values, 62) +
           3 * base64_at_least(values, 63);
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

/* The word at `offset`, a multiple of 4, with zero for what lies beyond the input. */
static __device__ __forceinline__ uint32_t base64_input(const unsigned char *in, uint64_t bytes,
                                                        uint64_t offset)
{
    uint32_t word = 0;

    if (offset + 4 <= bytes)
        return *reinterpret_cast<const uint32_t *>(in + offset);
    for (unsigned j = 0; j < 4; j++)
        if (offset + j < bytes)
            word |= static_cast<uint32_t>(in[offset + j]) << 8 * j;
    return word;
}

/*
 * Characters 4 * quad_index .. + 19, without line ends, padded where the input
 * ends inside; what lies beyond its last quad is arbitrary.
 */
static __device__ __forceinline__ void base64_five_quads(uint32_t quad[5], const unsigned char *in,
                                                         uint64_t bytes, uint64_t quad_index)
{
    uint64_t offset = 3 * quad_index, aligned = offset & ~UINT64_C(3);
    uint32_t shift = 8 * static_cast<uint32_t>(offset & 3);
    uint32_t word[5], stream[4];

#pragma unroll
    for (unsigned k = 0; k < 5; k++)
        word[k] = base64_input(in, bytes, aligned + 4 * k);
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        stream[k] =
            static_cast<uint32_t>((static_cast<uint64_t>(word[k + 1]) << 32 | word[k]) >> shift);
    base64_four_quads(quad, stream[0], stream[1], stream[2]);
    quad[4] = base64_quad(__byte_perm(stream[3], 0, 0x1201));
    if (offset + 15 <= bytes)
        return;
#pragma unroll
    for (unsigned k = 0; k < 5; k++) {
        if (offset + 3 * k + 1 == bytes)
            quad[k] = (quad[k] & 0x0000ffffu) | 0x3d3d0000u;
        else if (offset + 3 * k + 2 == bytes)
            quad[k] = (quad[k] & 0x00ffffffu) | 0x3d000000u;
    }
}

/* 0xff in each of the four bytes at 4 * k .. 4 * k + 3 that comes before byte `position`. */
static __device__ __forceinline__ uint32_t base64_before(uint32_t position, uint32_t k)
{
    uint32_t bytes = position > 4 * k ? position - 4 * k : 0;

    return bytes >= 4 ? 0xffffffffu : (1u << 8 * bytes) - 1;
}

/* Moves text[position ..] up by one character and puts a line end there. */
static __device__ __forceinline__ void base64_insert_line_end(uint32_t text[4], uint32_t position)
{
#pragma unroll
    for (int k = 3; k >= 0; k--) {
        uint32_t moved = text[k] << 8 | (k ? text[k - 1] >> 24 : 0);
        uint32_t before = base64_before(position, static_cast<uint32_t>(k));
        uint32_t until = base64_before(position + 1, static_cast<uint32_t>(k));

        text[k] = (text[k] & before) | (0x0a0a0a0au & until & ~before) | (moved & ~until);
    }
}

/*
 * Sixteen characters of the output: from `column` of line `line` on. Column
 * line_length is the line end itself.
 */
static __device__ __forceinline__ void base64_lines(uint32_t text[4], const unsigned char *in,
                                                    uint64_t bytes, uint64_t line, uint32_t column,
                                                    uint32_t line_length)
{
    uint32_t quad[5], shift = 8 * (column & 3);

    base64_five_quads(quad, in, bytes, (line * line_length + column) / 4);
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        text[k] =
            static_cast<uint32_t>((static_cast<uint64_t>(quad[k + 1]) << 32 | quad[k]) >> shift);
    for (uint32_t end = line_length - column; end < 16; end += line_length + 1)
        base64_insert_line_end(text, end);
}

/* The last characters of the output, 16 at most; with lines the very last is a line end. */
static __device__ __forceinline__ void base64_store_end(unsigned char *out, const uint32_t text[4],
                                                        uint64_t characters, bool line_end)
{
#pragma unroll
    for (unsigned j = 0; j < 16; j++)
        if (j < characters)
            out[j] = line_end && j + 1 == characters
                         ? '\n'
                         : static_cast<unsigned char>(text[j / 4] >> 8 * (j % 4));
}

static __device__ __forceinline__ void
base64_encode_plain(const struct base64_encode_arguments &arguments, uint64_t first,
                    uint64_t stride)
{
    const uint32_t *in = reinterpret_cast<const uint32_t *>(arguments.in);
    uint4 *out = reinterpret_cast<uint4 *>(arguments.out);
    uint64_t whole = arguments.bytes / 12;
    uint32_t quad[5];

    for (uint64_t i = first; i < whole; i += stride) {
        base64_four_quads(quad, in[3 * i], in[3 * i + 1], in[3 * i + 2]);
        out[i] = make_uint4(quad[0], quad[1], quad[2], quad[3]);
    }
    if (first == 0 && 12 * whole < arguments.bytes) {
        base64_five_quads(quad, reinterpret_cast<const unsigned char *>(in), arguments.bytes,
                          4 * whole);
        base64_store_end(reinterpret_cast<unsigned char *>(out + whole), quad,
                         arguments.characters - 16 * whole, false);
    }
}

static __device__ __forceinline__ void
base64_encode_lines(const struct base64_encode_arguments &arguments, uint64_t first,
                    uint64_t stride)
{
    const unsigned char *in = reinterpret_cast<const unsigned char *>(arguments.in);
    uint4 *out = reinterpret_cast<uint4 *>(arguments.out);
    uint32_t period = arguments.line_length + 1;
    /* Divided once; each step of the loop then adds whole lines and columns. */
    uint64_t line = 16 * first / period, line_step = 16 * stride / period;
    uint32_t column = static_cast<uint32_t>(16 * first % period);
    uint32_t column_step = static_cast<uint32_t>(16 * stride % period);
    uint32_t text[4];

    for (uint64_t i = first; 16 * i < arguments.characters; i += stride) {
        base64_lines(text, in, arguments.bytes, line, column, arguments.line_length);
        if (16 * i + 16 < arguments.characters)
            out[i] = make_uint4(text[0], text[1], text[2], text[3]);
        else
            base64_store_end(reinterpret_cast<unsigned char *>(out + i), text,
                             arguments.characters - 16 * i, true);
        line += line_step;
        column += column_step;
        if (column >= period) {
            column -= period;
            line++;
        }
    }
}

extern "C" __global__ void
base64_encode(const __grid_constant__ struct base64_encode_arguments arguments)
{
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;

    if (arguments.line_length)
        base64_encode_lines(arguments, first, stride);
    else
        base64_encode_plain(arguments, first, stride);
}
KERNEL(base64_encode)
