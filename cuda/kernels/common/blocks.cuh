/*
 * AES blocks in device memory at any byte address, one block a lane.
 *
 * Where the address is not a multiple of 16, a block lies in two granules of 16
 * aligned bytes. Loads take both and cut the block out; stores let the warp put
 * its blocks together again, so that every lane writes one whole granule. All
 * lanes are off by the same, so the branches on it are uniform. Bytes outside
 * the buffer are not even read, and bytes of other warps' blocks are not
 * written: in place works as well.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_BLOCKS_CUH
#define GPUAES_KERNELS_BLOCKS_CUH

#include "cuda/kernels/common/intrinsics.cuh"

enum { LANES = 32 };
enum : uint32_t { ALL_LANES = 0xffffffff };

/* Words c of a state or a round key are columns, FIPS 197 section 3.4. */
struct aes_state {
    uint32_t c0, c1, c2, c3;
};

static __device__ __forceinline__ aes_state operator^(aes_state a, aes_state b)
{
    return {a.c0 ^ b.c0, a.c1 ^ b.c1, a.c2 ^ b.c2, a.c3 ^ b.c3};
}

static __device__ __forceinline__ aes_state to_state(uint4 v)
{
    return {v.x, v.y, v.z, v.w};
}

static __device__ __forceinline__ uint4 to_vector(aes_state s)
{
    return make_uint4(s.c0, s.c1, s.c2, s.c3);
}

/* The state of another lane of a converged warp. */
static __device__ __forceinline__ aes_state shuffle(aes_state s, uint32_t lane)
{
    int from = static_cast<int>(lane);
    return {__shfl_sync(ALL_LANES, s.c0, from), __shfl_sync(ALL_LANES, s.c1, from),
            __shfl_sync(ALL_LANES, s.c2, from), __shfl_sync(ALL_LANES, s.c3, from)};
}

/* 16 of the 32 bytes of `low` and `high`, from byte `at` (0 to 15). */
static __device__ __forceinline__ aes_state window(aes_state low, aes_state high, uint32_t at)
{
    uint32_t w0 = low.c0, w1 = low.c1, w2 = low.c2, w3 = low.c3;
    uint32_t w4 = high.c0, w5 = high.c1, w6 = high.c2;
    if ((at & 8) != 0) {
        w0 = w2, w1 = w3, w2 = w4, w3 = w5, w4 = w6;
        w5 = high.c3;
    }
    if ((at & 4) != 0)
        w0 = w1, w1 = w2, w2 = w3, w3 = w4, w4 = w5;
    uint32_t bits = (at & 3) * 8;
    return {__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits),
            __funnelshift_r(w2, w3, bits), __funnelshift_r(w3, w4, bits)};
}

/* Byte by byte: slow, for the ends of a buffer. */
static __device__ __forceinline__ aes_state load_bytes(const unsigned char *from)
{
    aes_state s = {};
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        s.c0 = __funnelshift_r(s.c0, s.c1, 8);
        s.c1 = __funnelshift_r(s.c1, s.c2, 8);
        s.c2 = __funnelshift_r(s.c2, s.c3, 8);
        s.c3 = s.c3 >> 8 | static_cast<uint32_t>(from[i]) << 24;
    }
    return s;
}

static __device__ __forceinline__ void store_bytes(unsigned char *to, aes_state s)
{
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        to[i] = static_cast<unsigned char>(s.c0);
        s.c0 = __funnelshift_r(s.c0, s.c1, 8);
        s.c1 = __funnelshift_r(s.c1, s.c2, 8);
        s.c2 = __funnelshift_r(s.c2, s.c3, 8);
        s.c3 >>= 8;
    }
}

/* Block `i` of the buffer of `blocks` blocks at `base`; zeros beyond it. */
static __device__ __forceinline__ aes_state load_block(uint64_t base, uint64_t blocks, uint64_t i)
{
    if (i >= blocks)
        return {};
    uint32_t offset = base & 15;
    if (offset == 0)
        return to_state(__ldcs(reinterpret_cast<const uint4 *>(base) + i));
    if (i == 0 || i + 1 == blocks)
        return load_bytes(reinterpret_cast<const unsigned char *>(base) + 16 * i);
    const uint4 *granule = reinterpret_cast<const uint4 *>(base - offset) + i;
    return window(to_state(granule[0]), to_state(granule[1]), offset);
}

/* Stores block `i` without the other lanes: fast only where `base` is a multiple of 16. */
static __device__ __forceinline__ void store_block(uint64_t base, uint64_t i, aes_state s)
{
    if ((base & 15) == 0)
        __stcs(reinterpret_cast<uint4 *>(base) + i, to_vector(s));
    else
        store_bytes(reinterpret_cast<unsigned char *>(base) + 16 * i, s);
}

/*
 * Stores bytes `offset` to 15 of `s` at `granule`, and those below `offset` 32
 * granules on: the two ends of what a warp stores.
 */
static __device__ __forceinline__ void store_ends(uint4 *granule, uint32_t offset, aes_state s)
{
    uint32_t word[4] = {s.c0, s.c1, s.c2, s.c3};
#pragma unroll
    for (uint32_t w = 0; w < 4; w++) {
        unsigned char *low = reinterpret_cast<unsigned char *>(granule) + 4 * w;
        unsigned char *high = low + 16 * LANES;
        if (offset <= 4 * w || offset >= 4 * w + 4) {
            *reinterpret_cast<uint32_t *>(offset <= 4 * w ? low : high) = word[w];
        } else {
#pragma unroll
            for (uint32_t b = 0; b < 4; b++)
                (offset <= 4 * w + b ? low : high)[b] =
                    static_cast<unsigned char>(word[w] >> (8 * b));
        }
    }
}

/*
 * Block `first` + lane of each lane of a converged warp, as far as the buffer
 * of `blocks` blocks at `base` has them. `first` may be below 0 (it wraps).
 */
static __device__ __forceinline__ void store_blocks(uint64_t base, uint64_t blocks, uint64_t first,
                                                    aes_state s)
{
    uint32_t lane = threadIdx.x % LANES, offset = base & 15;
    if (offset == 0 || first >= blocks || blocks - first < LANES) {
        if (first + lane < blocks)
            store_block(base, first + lane, s);
        return;
    }
    uint4 *granule = reinterpret_cast<uint4 *>(base - offset) + first + lane;
    aes_state before = shuffle(s, (lane - 1) % LANES);
    s = window(before, s, 16 - offset);
    if (lane != 0)
        __stcs(granule, to_vector(s));
    else
        store_ends(granule, offset, s);
}

#endif
