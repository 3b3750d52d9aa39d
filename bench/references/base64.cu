/*
 * Base64 as others encode it: see references.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/references/references.h"
#include "cuda/kernels/common/intrinsics.cuh"

static __constant__ unsigned char reference_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes, the first one in the highest, to four characters, the first one in the lowest. */
static __device__ __forceinline__ uint32_t reference_characters(uint32_t bytes)
{
    return reference_alphabet[bytes >> 18 & 63] | reference_alphabet[bytes >> 12 & 63] << 8 |
           reference_alphabet[bytes >> 6 & 63] << 16 |
           static_cast<uint32_t>(reference_alphabet[bytes & 63]) << 24;
}

/* One group by single bytes; the last one may be short. */
static __device__ __forceinline__ void
reference_group(const struct reference_base64_arguments &arguments, uint64_t group)
{
    const unsigned char *in = reinterpret_cast<const unsigned char *>(arguments.in) + 3 * group;
    unsigned char *out = reinterpret_cast<unsigned char *>(arguments.out) + 4 * group;
    uint64_t left = arguments.bytes - 3 * group;
    uint32_t second = left > 1 ? in[1] : 0, third = left > 2 ? in[2] : 0;
    uint32_t characters =
        reference_characters(static_cast<uint32_t>(in[0]) << 16 | second << 8 | third);

    out[0] = static_cast<unsigned char>(characters);
    out[1] = static_cast<unsigned char>(characters >> 8);
    out[2] = left > 1 ? static_cast<unsigned char>(characters >> 16) : '=';
    out[3] = left > 2 ? static_cast<unsigned char>(characters >> 24) : '=';
}

extern "C" __global__ void
reference_base64_scalar(const __grid_constant__ struct reference_base64_arguments arguments)
{
    uint64_t group = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (3 * group < arguments.bytes)
        reference_group(arguments, group);
}
KERNEL(reference_base64_scalar)

/* A word as its bytes follow each other, the first one in the highest. */
static __device__ __forceinline__ uint32_t reference_swapped(uint32_t word)
{
    return __byte_perm(word, 0, 0x0123);
}

extern "C" __global__ void
reference_base64_vector(const __grid_constant__ struct reference_base64_arguments arguments)
{
    uint64_t four = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t at = 3 * REFERENCE_BASE64_FOUR * four;

    if (at + 3 * REFERENCE_BASE64_FOUR <= arguments.bytes) {
        const uint32_t *in = reinterpret_cast<const uint32_t *>(arguments.in + at);
        uint32_t a = reference_swapped(in[0]), b = reference_swapped(in[1]),
                 c = reference_swapped(in[2]);

        reinterpret_cast<uint4 *>(arguments.out)[four] =
            make_uint4(reference_characters(a >> 8), reference_characters(a << 16 | b >> 16),
                       reference_characters(b << 8 | c >> 24), reference_characters(c));
        return;
    }
    for (uint64_t group = REFERENCE_BASE64_FOUR * four; 3 * group < arguments.bytes; group++)
        reference_group(arguments, group);
}
KERNEL(reference_base64_vector)
