/*
 * Base64 decoding, strict: each thread makes 12 bytes from 16 characters.
 *
 * Translation and validation are arithmetic on four characters in a word:
 * there is no table. Neither branches nor addresses depend on the data, but
 * for the report of a character that is not in the alphabet.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/intrinsics.cuh"

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
 * Four characters to 24 bits, the first byte highest, noise above. *wrong: bit 7 of each
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

/* ---- Edges: a byte a thread ----------------------------------------------------- */

/* The body is `count` times 12 bytes behind the first `head`. */
struct base64_decode_body {
    uint64_t head, count;
};

static __device__ __forceinline__ void
base64_decode_edges(const struct base64_decode_arguments &arguments,
                    const struct base64_decode_body &body, uint64_t first, uint64_t stride)
{
    const unsigned char *in = reinterpret_cast<const unsigned char *>(arguments.in);
    unsigned char *out = reinterpret_cast<unsigned char *>(arguments.out);
    uint64_t middle = 12 * body.count;

    for (uint64_t i = first; i < 3 * arguments.quads - middle; i += stride) {
        uint64_t at = i < body.head ? i : i + middle, quad = at / 3;
        uint32_t characters = 0, wrong, bits;

        for (unsigned k = 0; k < 4; k++)
            characters |= static_cast<uint32_t>(in[4 * quad + k]) << 8 * k;
        bits = base64_values(characters, &wrong);
        out[at] = static_cast<unsigned char>(bits >> (16 - 8 * (at - 3 * quad)));
        if (wrong)
            base64_report(arguments.error, 4 * quad, wrong);
    }
}

/* ---- Bodies ----------------------------------------------------------------------- */

/* Input aligned to 16, output to 4. */
static __device__ __forceinline__ void
base64_decode_aligned(const struct base64_decode_arguments &arguments,
                      const struct base64_decode_body &body, uint64_t first, uint64_t stride)
{
    const uint4 *in = reinterpret_cast<const uint4 *>(arguments.in);
    uint32_t *out = reinterpret_cast<uint32_t *>(arguments.out);

#pragma unroll 1
    for (uint64_t i = first; i < body.count; i += stride) {
        uint4 text = __ldg(&in[i]);
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
}

/*
 * Any alignment. Each thread takes sixteen characters at an aligned address and
 * packs them into 96 bits, whatever quads they belong to; three aligned words of
 * output begin `shift` bits into these and end in those of the next lane. So the
 * last lane of a warp only lends its bits: it takes what the next warp begins with.
 */
struct base64_shifted {
    uint64_t in, out;   /* aligned to 16 and 4: the first vector, and where thread 0 writes */
    int64_t characters; /* offset of the first vector in the text */
    uint64_t count;     /* threads that write; there is a vector more */
    uint32_t shift;     /* 0 to 31 */
};

enum { BASE64_WRITERS = 31 };

static __device__ __forceinline__ void base64_pack(uint32_t stream[3], const uint4 &text,
                                                   uint32_t wrong[4])
{
    uint32_t a = base64_values(text.x, &wrong[0]), b = base64_values(text.y, &wrong[1]);
    uint32_t c = base64_values(text.z, &wrong[2]), d = base64_values(text.w, &wrong[3]);

    stream[0] = __byte_perm(a, b, 0x2106);
    stream[1] = __byte_perm(b, c, 0x1065);
    stream[2] = __byte_perm(c, d, 0x0654);
}

static __device__ __forceinline__ void base64_decode_shifted(const struct base64_shifted &s,
                                                             uint64_t error, uint64_t first,
                                                             uint64_t stride)
{
    const uint4 *in = reinterpret_cast<const uint4 *>(s.in);
    uint32_t *out = reinterpret_cast<uint32_t *>(s.out), lane = threadIdx.x % 32;

#pragma unroll 1
    for (uint64_t warp = first / 32; warp * BASE64_WRITERS < s.count; warp += stride / 32) {
        uint64_t i = warp * BASE64_WRITERS + lane;
        uint32_t stream[4], wrong[4];

        base64_pack(stream, __ldg(&in[i < s.count ? i : s.count]), wrong);
        stream[3] = __shfl_down_sync(0xffffffff, stream[0], 1);
        if (lane < BASE64_WRITERS && i < s.count) {
#pragma unroll
            for (unsigned k = 0; k < 3; k++)
                out[3 * i + k] = swap_bytes(__funnelshift_l(stream[k + 1], stream[k], s.shift));
        }
        if (wrong[0] | wrong[1] | wrong[2] | wrong[3]) {
            if (i > s.count)
                i = s.count;
#pragma unroll
            for (int k = 3; k >= 0; k--)
                if (wrong[k])
                    base64_report(error, s.characters + 16 * i + 4 * k, wrong[k]);
        }
    }
}

static __device__ __forceinline__ struct base64_shifted
base64_shifted_of(const struct base64_decode_arguments &arguments)
{
    struct base64_shifted s;
    uint32_t skipped = -static_cast<uint32_t>(arguments.in) % 16; /* characters */
    uint64_t vectors = 4 * arguments.quads < skipped ? 0 : (4 * arguments.quads - skipped) / 16;
    /* The first byte of the first vector, and then of the first aligned word behind. */
    uint32_t head = (6 * skipped + 7) / 8;

    head += -(static_cast<uint32_t>(arguments.out) + head) % 4;
    s.in = arguments.in + skipped;
    s.out = arguments.out + head;
    s.characters = skipped;
    s.count = vectors ? vectors - 1 : 0;
    s.shift = 8 * head - 6 * skipped;
    return s;
}

/* Blocks of whole warps. */
extern "C" __global__ void
base64_decode(const __grid_constant__ struct base64_decode_arguments arguments)
{
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    struct base64_decode_body body = {0, arguments.quads / 4};

    if (arguments.in % 16 == 0 && arguments.out % 4 == 0) {
        base64_decode_aligned(arguments, body, first, stride);
    } else {
        struct base64_shifted shifted = base64_shifted_of(arguments);

        base64_decode_shifted(shifted, arguments.error, first, stride);
        body = {shifted.out - arguments.out, shifted.count};
    }
    base64_decode_edges(arguments, body, first, stride);
}
KERNEL(base64_decode)
