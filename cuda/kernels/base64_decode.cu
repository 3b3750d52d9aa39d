/*
 * Base64 decoding, strict: each thread makes 12 bytes from 16 characters.
 *
 * Translation and validation are arithmetic on four characters in a word:
 * there is no table. Neither branches nor addresses depend on the data, but
 * for the report of a character that is not in the alphabet.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "intrinsics.cuh"

/* Bit 7 of each byte of `text` (each under 128): is it at least `limit`? Other bits are noise. */
static __device__ __forceinline__ uint32_t base64_from(uint32_t text, uint32_t limit)
{
    return text + (128 - limit) * 0x01010101u;
}

/* 0x01 in each byte whose bit 7 is set. */
static __device__ __forceinline__ uint32_t base64_flags(uint32_t from)
{
    return from >> 7 & 0x01010101u;
}

/*
 * Four characters to 24 bits, the first byte highest. *wrong: bit 7 of each
 * byte that is no character of the alphabet.
 */
static __device__ __forceinline__ uint32_t base64_values(uint32_t characters, uint32_t *wrong)
{
    uint32_t text = characters & 0x7f7f7f7fu;
    uint32_t plus = base64_from(text, '+'), slash = base64_from(text, '/');
    uint32_t upper = base64_from(text, 'A'), lower = base64_from(text, 'a');
    uint32_t values, pairs;

    /* The alphabet is left and entered again in turn: inside it the parity of the bounds is odd. */
    *wrong = (~(plus ^ base64_from(text, '+' + 1) ^ slash ^ base64_from(text, '9' + 1) ^ upper ^
                base64_from(text, 'Z' + 1) ^ lower ^ base64_from(text, 'z' + 1)) |
              characters) &
             0x80808080u;
    /* '+' is 62 = '+' + 19; then the steps to '/' + 16, '0' + 4, 'A' - 65 and 'a' - 71. */
    values = text + 0x13131313u - 3 * base64_flags(slash) -
             12 * base64_flags(base64_from(text, '0')) - 69 * base64_flags(upper) -
             6 * base64_flags(lower);
    pairs = (values & 0x003f003fu) * 64 + (values >> 8 & 0x003f003fu);
    return pairs << 12 | pairs >> 16;
}

/* The error path: keeps the lowest offset of a wrong character. */
static __device__ void base64_report(uint64_t error, uint64_t offset, uint32_t wrong)
{
    while (!(wrong & 0x80u)) {
        wrong >>= 8;
        offset++;
    }
    atomicMin(reinterpret_cast<unsigned long long *>(error),
              static_cast<unsigned long long>(offset));
}

/* The one to three quads behind the last whole vector. */
static __device__ void base64_decode_end(const struct base64_decode_arguments &arguments)
{
    const uint32_t *in = reinterpret_cast<const uint32_t *>(arguments.in);
    unsigned char *out = reinterpret_cast<unsigned char *>(arguments.out);
    uint32_t wrong;

    for (uint64_t quad = arguments.quads & ~UINT64_C(3); quad < arguments.quads; quad++) {
        uint32_t bits = base64_values(in[quad], &wrong);

        for (unsigned j = 0; j < 3; j++)
            out[3 * quad + j] = static_cast<unsigned char>(bits >> (16 - 8 * j));
        if (wrong)
            base64_report(arguments.error, 4 * quad, wrong);
    }
}

extern "C" __global__ void
base64_decode(const __grid_constant__ struct base64_decode_arguments arguments)
{
    const uint4 *in = reinterpret_cast<const uint4 *>(arguments.in);
    uint32_t *out = reinterpret_cast<uint32_t *>(arguments.out);
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;

    for (uint64_t i = first; i < arguments.quads / 4; i += stride) {
        uint4 text = in[i];
        uint32_t wrong[4];
        uint32_t a = base64_values(text.x, &wrong[0]), b = base64_values(text.y, &wrong[1]);
        uint32_t c = base64_values(text.z, &wrong[2]), d = base64_values(text.w, &wrong[3]);

        out[3 * i] = __byte_perm(a, b, 0x6012);
        out[3 * i + 1] = __byte_perm(b, c, 0x5601);
        out[3 * i + 2] = __byte_perm(c, d, 0x4560);
        if (wrong[0] | wrong[1] | wrong[2] | wrong[3]) {
#pragma unroll
            for (int k = 3; k >= 0; k--) /* backwards: a lower one replaces a higher one */
                if (wrong[k])
                    base64_report(arguments.error, 16 * i + 4 * k, wrong[k]);
        }
    }
    if (first == 0)
        base64_decode_end(arguments);
}
KERNEL(base64_decode)
