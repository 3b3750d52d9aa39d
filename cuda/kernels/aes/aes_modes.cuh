/*
 * The modes of AES, for any number of tables: warps take 32 or more consecutive
 * blocks at a time, a lane a block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_MODES_CUH
#define GPUAES_KERNELS_AES_MODES_CUH

#include "cuda/kernels/aes/aes_rounds.cuh"
#include "cuda/kernels/aes/no_hash.cuh"

/* Warps of the grid, and the number of the caller's. */
static __device__ __forceinline__ uint64_t warps()
{
    return static_cast<uint64_t>(gridDim.x) * (blockDim.x / LANES);
}

static __device__ __forceinline__ uint64_t warp_number()
{
    return static_cast<uint64_t>(blockIdx.x) * (blockDim.x / LANES) + threadIdx.x / LANES;
}

/* ---- ECB ------------------------------------------------------------------ */

/* The first input is on its way, from host memory perhaps, while the tables are filled. */
template <int TABLES, int ROUNDS, int DECRYPT>
static __device__ __forceinline__ void ecb(const aes_arguments &a)
{
    uint64_t first = warp_number() * LANES;
    aes_state s = load_block(a.in, a.blocks, first + threadIdx.x % LANES);
    fill_tables<TABLES>(DECRYPT ? constant_tables.td : constant_tables.te);
    uint32_t lane = lane_address();
    while (first < a.blocks) {
        s = DECRYPT ? decrypt_block<TABLES, ROUNDS>(lane, s, a)
                    : encrypt_block<TABLES, ROUNDS>(lane, s, a);
        store_blocks(a.out, a.blocks, first, s);
        first += warps() * LANES;
        s = load_block(a.in, a.blocks, first + threadIdx.x % LANES);
    }
}

template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void ecb_encrypt(const aes_arguments &a)
{
    ecb<TABLES, ROUNDS, 0>(a);
}

template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void ecb_decrypt(const aes_arguments &a)
{
    ecb<TABLES, ROUNDS, 1>(a);
}

/* ---- CBC ------------------------------------------------------------------ */

/* The block before chunk `first` / AES_CHUNK, or before any `first` without a chain. */
static __device__ __forceinline__ aes_state block_before(const aes_arguments &a, uint64_t first)
{
    if (a.chain != 0)
        return to_state(reinterpret_cast<const uint4 *>(a.chain)[first / AES_CHUNK]);
    if (first == 0)
        return {a.iv[0], a.iv[1], a.iv[2], a.iv[3]};
    return load_block(a.in, a.blocks, first - 1);
}

/*
 * A warp takes a chunk, or 32 blocks where there are few, and hands the last of
 * 32 on to the next, since in place it is overwritten by then.
 */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void cbc_decrypt(const aes_arguments &a)
{
    fill_tables<TABLES>(constant_tables.td);
    uint32_t lane = lane_address(), l = threadIdx.x % LANES;
    uint64_t span = LANES;
    if (a.chain != 0 || a.blocks / AES_CHUNK >= warps())
        span = AES_CHUNK;
    for (uint64_t chunk = warp_number() * span; chunk < a.blocks; chunk += warps() * span) {
        aes_state before = {};
        if (l == 0)
            before = block_before(a, chunk);
        uint64_t end = min(a.blocks, chunk + span);
        for (uint64_t first = chunk; first < end; first += LANES) {
            aes_state cipher = load_block(a.in, a.blocks, first + l);
            aes_state turned = shuffle(cipher, (l - 1) % LANES);
            aes_state previous = l == 0 ? before : turned;
            before = turned;
            store_blocks(a.out, a.blocks, first,
                         decrypt_block<TABLES, ROUNDS>(lane, cipher, a) ^ previous);
        }
    }
}

/*
 * For little work, several warps take a chunk: with a chain, the threads of a
 * block share one, and write when all have read. The first input is loaded early, as
 * for ECB.
 */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void cbc_decrypt_together(const aes_arguments &a)
{
    uint32_t l = threadIdx.x % LANES;
    uint32_t span = blockDim.x, within = 0; /* what of the span is done */
    if (a.chain != 0)
        span = AES_CHUNK;
    aes_state cipher, previous, before = {};
    auto load = [&](uint64_t at) {
        uint64_t i = at + threadIdx.x;
        aes_state edge = {};
        cipher = load_block(a.in, a.blocks, i);
        if (threadIdx.x == 0 && at < a.blocks) {
            edge = within == 0 ? block_before(a, at) : before;
            if (within + blockDim.x != span)
                before = load_block(a.in, a.blocks, at + blockDim.x - 1);
        } else if (l == 0) {
            edge = load_block(a.in, a.blocks, i - 1);
        }
        previous = shuffle(cipher, (l - 1) % LANES);
        if (l == 0)
            previous = edge;
    };
    uint64_t at = static_cast<uint64_t>(blockIdx.x) * span;
    load(at);
    fill_tables<TABLES>(constant_tables.td);
    uint32_t lane = lane_address();
    while (at < a.blocks) {
        if (a.chain != 0)
            __syncthreads();
        store_blocks(a.out, a.blocks, at + threadIdx.x - l,
                     decrypt_block<TABLES, ROUNDS>(lane, cipher, a) ^ previous);
        at += blockDim.x;
        within += blockDim.x;
        if (within == span) {
            within = 0;
            at += static_cast<uint64_t>(gridDim.x - 1) * span;
        }
        load(at);
    }
}

/* ---- CTR ------------------------------------------------------------------ */

/* The counter block of NIST SP 800-38A: a 128-bit big-endian number. */
struct counter {
    uint64_t high, low;
};

/* The one that a kernel's arguments have, as loaded from memory. */
static __device__ __forceinline__ counter first_counter(const uint32_t iv[4])
{
    return {static_cast<uint64_t>(swap_bytes(iv[0])) << 32 | swap_bytes(iv[1]),
            static_cast<uint64_t>(swap_bytes(iv[2])) << 32 | swap_bytes(iv[3])};
}

static __device__ __forceinline__ counter advance(counter c, uint64_t blocks)
{
    uint64_t low = c.low + blocks;
    return {c.high + (low < blocks ? 1 : 0), low};
}

static __device__ __forceinline__ aes_state counter_block(counter c)
{
    return {
        swap_bytes(static_cast<uint32_t>(c.high >> 32)), swap_bytes(static_cast<uint32_t>(c.high)),
        swap_bytes(static_cast<uint32_t>(c.low >> 32)), swap_bytes(static_cast<uint32_t>(c.low))};
}

/* What the keystream is combined with. */
static __device__ __forceinline__ aes_state load_text(const aes_arguments &a, uint64_t first)
{
    if (a.in == 0)
        return {};
    return load_block(a.in, a.blocks, first + threadIdx.x % LANES);
}

template <int TABLES, int ROUNDS, class HASH>
static __device__ __forceinline__ void ctr_hashed(const aes_arguments &a, HASH hash)
{
    uint64_t first = warp_number() * LANES;
    aes_state text = load_text(a, first);
    fill_tables<TABLES>(constant_tables.te);
    uint32_t lane = lane_address();
    while (first < a.blocks) {
        aes_state s = counter_block(advance(first_counter(a.iv), first + threadIdx.x % LANES));
        s = encrypt_block<TABLES, ROUNDS>(lane, s, a) ^ text;
        store_blocks(a.out, a.blocks, first, s);
        hash.add_at(text, s, first + threadIdx.x % LANES, false);
        first += warps() * LANES;
        text = load_text(a, first);
    }
    hash.finish();
}

template <int TABLES, int ROUNDS> static __device__ __forceinline__ void ctr(const aes_arguments &a)
{
    ctr_hashed<TABLES, ROUNDS>(a, no_hash{});
}

/*
 * For large work: a warp takes a tile of 256 counters that differ in byte 15 alone.
 * Then round 1 changes one column only and round 2 one byte of each, so that
 * most of both is computed once a tile: 197 of 224 lookups a block are left
 * (AES-256). The tiles at both ends may be partial.
 */
struct ctr_tile {
    uint32_t column0; /* of round 1, without the byte that varies */
    aes_state round2; /* without what column 0 contributes */
    uint32_t key15;
};

template <int TABLES, class KEY>
static __device__ __forceinline__ ctr_tile begin_tile(uint32_t lane, counter base, const KEY &key)
{
    using T = aes_lookup<TABLES>;
    aes_state k0 = round_key(key, 0), k1 = round_key(key, 1), k2 = round_key(key, 2);
    aes_state s = counter_block(base) ^ k0;
    ctr_tile t;
    t.key15 = k0.c3 >> 24;
    t.column0 = xor3(T::template table<0>(s.c0, lane), T::template table<1>(s.c1, lane),
                     T::template table<2>(s.c2, lane)) ^
                k1.c0;
    uint32_t t1 = T::column(lane, s.c1, s.c2, s.c3, s.c0, k1.c1);
    uint32_t t2 = T::column(lane, s.c2, s.c3, s.c0, s.c1, k1.c2);
    uint32_t t3 = T::column(lane, s.c3, s.c0, s.c1, s.c2, k1.c3);
    t.round2.c0 = xor3(T::template table<1>(t1, lane), T::template table<2>(t2, lane),
                       T::template table<3>(t3, lane)) ^
                  k2.c0;
    t.round2.c1 = xor3(T::template table<0>(t1, lane), T::template table<1>(t2, lane),
                       T::template table<2>(t3, lane)) ^
                  k2.c1;
    t.round2.c2 = xor3(T::template table<0>(t2, lane), T::template table<1>(t3, lane),
                       T::template table<3>(t1, lane)) ^
                  k2.c2;
    t.round2.c3 = xor3(T::template table<0>(t3, lane), T::template table<2>(t1, lane),
                       T::template table<3>(t2, lane)) ^
                  k2.c3;
    return t;
}

/* The state after round 2 of counter number `byte15` of the tile. */
template <int TABLES>
static __device__ __forceinline__ aes_state after_round2(uint32_t lane, const ctr_tile &t,
                                                         uint32_t byte15)
{
    using T = aes_lookup<TABLES>;
    uint32_t c0 = t.column0 ^ T::template table<3>((byte15 ^ t.key15) << 24, lane);
    return {
        t.round2.c0 ^ T::template table<0>(c0, lane), t.round2.c1 ^ T::template table<3>(c0, lane),
        t.round2.c2 ^ T::template table<2>(c0, lane), t.round2.c3 ^ T::template table<1>(c0, lane)};
}

template <int TABLES, int ROUNDS, class HASH>
static __device__ __forceinline__ void ctr_by_tiles_hashed(const aes_arguments &a, HASH hash)
{
    fill_tables<TABLES>(constant_tables.te);
    uint32_t lane = lane_address();
    uint32_t skipped = a.iv[3] >> 24; /* counters of tile 0 before ours */
    counter base = first_counter(a.iv);
    base.low -= skipped;
    uint64_t tiles = (a.blocks + skipped + 255) / 256;
    for (uint64_t n = warp_number(); n < tiles; n += warps()) {
        ctr_tile t = begin_tile<TABLES>(lane, advance(base, n * 256), a);
        uint64_t begin = n * 256 - skipped; /* wraps before the first block */
#pragma unroll 1
        for (uint32_t j = 0; j < 256; j += LANES) {
            uint64_t first = begin + j;
            aes_state text = load_text(a, first);
            aes_state s = after_round2<TABLES>(lane, t, j + threadIdx.x % LANES);
            s = encrypt_from<TABLES, ROUNDS, 3>(lane, s, a) ^ text;
            store_blocks(a.out, a.blocks, first, s);
            hash.add_at(text, s, first + threadIdx.x % LANES, j == 0);
        }
    }
    hash.finish();
}

template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void ctr_by_tiles(const aes_arguments &a)
{
    ctr_by_tiles_hashed<TABLES, ROUNDS>(a, no_hash{});
}

#endif
