/*
 * ECB and CBC of the hybrid kernels: a chunk is 256 consecutive blocks, eight
 * rows of a block a lane. Table warps take a row at a time, bitsliced warps all
 * eight at once.
 *
 * In place, CBC reads a previous block before that is overwritten: what precedes
 * the chunk is in the chain, and rows are written from the last to the first.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_HYBRID_BLOCKS_CUH
#define GPUAES_KERNELS_HYBRID_BLOCKS_CUH

#include "cuda/kernels/aes/aes_modes.cuh"
#include "cuda/kernels/aes/hybrid/bitslice.cuh"
#include "cuda/kernels/aes/hybrid/hybrid_inside.cuh"

enum class mode { ecb_encrypt, ecb_decrypt, cbc_decrypt, ctr, gcm_encrypt, gcm_decrypt };

/* CTR, hashed or not. */
static __device__ constexpr bool counts(mode m)
{
    return m == mode::ctr || m == mode::gcm_encrypt || m == mode::gcm_decrypt;
}

static __device__ constexpr bool decrypts(mode m)
{
    return m == mode::ecb_decrypt || m == mode::cbc_decrypt;
}

/* ---- Access ----------------------------------------------------------------- */

/*
 * Access to a buffer that is aligned to 16, or may not be; all lanes have a block
 * (WHOLE), or some may be beyond the end. `l` is the lane.
 */
template <bool ALIGNED, bool WHOLE>
static __device__ __forceinline__ aes_state load_row(uint64_t base, uint64_t blocks, uint64_t first,
                                                     uint32_t l = threadIdx.x % LANES)
{
    uint64_t i = first + l;
    if (!ALIGNED)
        return load_block(base, blocks, i);
    if (!WHOLE && i >= blocks)
        return {};
    return to_state(__ldcs(reinterpret_cast<const uint4 *>(base) + i));
}

template <bool ALIGNED, bool WHOLE>
static __device__ __forceinline__ void store_row(uint64_t base, uint64_t blocks, uint64_t first,
                                                 aes_state s, uint32_t l = threadIdx.x % LANES)
{
    uint64_t i = first + l;
    if (!ALIGNED)
        store_blocks(base, blocks, first, s);
    else if (WHOLE || i < blocks)
        __stcs(reinterpret_cast<uint4 *>(base) + i, to_vector(s));
}

/* The block before chunk `first` / AES_CHUNK, which is not the first. */
static __device__ __forceinline__ aes_state block_before_inside(const aes_arguments &a,
                                                                uint64_t first)
{
    if (a.chain != 0)
        return to_state(reinterpret_cast<const uint4 *>(a.chain)[first / AES_CHUNK]);
    return load_inside(a.in, first - 1);
}

/* ---- Table warps ------------------------------------------------------------ */

/* Whether the next row is loaded while one is worked on: CBC needs its last block. */
template <mode MODE, bool ALIGNED>
static constexpr bool loads_ahead = MODE == mode::cbc_decrypt || ALIGNED;

/*
 * Runs `rows` rows from block `begin` on: a whole chunk or several, or what is left at
 * the end.
 */
template <mode MODE, int ROUNDS, bool ALIGNED, bool WHOLE>
static __device__ __forceinline__ void rows_by_tables(uint32_t lane, const aes_arguments &a,
                                                      uint64_t begin, uint32_t rows)
{
    uint32_t l = in_register(threadIdx.x % LANES);
    uint64_t first = begin + static_cast<uint64_t>(rows - 1) * LANES;
    aes_state next = load_row<ALIGNED, WHOLE>(a.in, a.blocks, first, l);
#pragma unroll 1
    for (; rows != 0; rows--, first -= LANES) {
        aes_state s = next, previous;
        if (loads_ahead<MODE, ALIGNED> && rows != 1)
            next = load_row<ALIGNED, true>(a.in, a.blocks, first - LANES, l);
        if (MODE == mode::cbc_decrypt) {
            /* Lane 31 has what lane 0 needs: the last block of the row below. */
            if (rows == 1 && l == LANES - 1)
                next = block_before(a, begin);
            previous = shuffle(l == LANES - 1 ? next : s, (l - 1) % LANES);
        }
        s = decrypts(MODE) ? decrypt_block<4, ROUNDS>(lane, s, a)
                           : encrypt_block<4, ROUNDS>(lane, s, a);
        if (MODE == mode::cbc_decrypt)
            s = s ^ previous;
        store_row<ALIGNED, WHOLE>(a.out, a.blocks, first, s, l);
        if (!loads_ahead<MODE, ALIGNED> && rows != 1)
            next = load_row<ALIGNED, true>(a.in, a.blocks, first - LANES, l);
    }
}

/* The same for whole chunks inside unaligned buffers. */
template <mode MODE, int ROUNDS>
static __device__ __forceinline__ void rows_inside(uint32_t lane, const aes_arguments &a,
                                                   uint64_t begin, uint32_t rows, uint4 *ends)
{
    uint32_t l = threadIdx.x % LANES, offset = a.in & 15;
    uint64_t first = begin + static_cast<uint64_t>(rows) * LANES;
    aes_state beyond = to_state(*(granule_of(a.in, first) - l));
    first -= LANES;
    aes_state s = join_row(load_granule(a.in, first), beyond, offset);
#pragma unroll 1
    for (; rows != 0; first -= LANES) {
        aes_state next = {}, previous;
        if (--rows != 0)
            next = load_granule(a.in, first - LANES);
        if (MODE == mode::cbc_decrypt) {
            if (rows != 0)
                next = join_row(next, beyond, offset);
            else if (l == LANES - 1)
                next = block_before_inside(a, begin);
            previous = shuffle(l == LANES - 1 ? next : s, (l - 1) % LANES);
        }
        s = decrypts(MODE) ? decrypt_block<4, ROUNDS>(lane, s, a)
                           : encrypt_block<4, ROUNDS>(lane, s, a);
        if (MODE == mode::cbc_decrypt)
            s = s ^ previous;
        store_inside(a.out, first, s, ends + rows % CHUNK_ROWS);
        if (rows % CHUNK_ROWS == 0)
            store_ends_of_rows<LANES>(a.out, first, ends);
        s = MODE == mode::cbc_decrypt ? next : join_row(next, beyond, offset);
    }
}

/* ---- Bitsliced warps -------------------------------------------------------- */

/* What the output of row `first` is combined with. */
template <mode MODE>
static __device__ __forceinline__ aes_state mask_of(const aes_arguments &a, uint64_t first)
{
    if (counts(MODE))
        return a.in != 0 ? load_row<true, true>(a.in, a.blocks, first) : aes_state{};
    if (first % AES_CHUNK == 0 && threadIdx.x % LANES == 0)
        return block_before(a, first);
    return load_row<true, true>(a.in, a.blocks, first - 1);
}

/*
 * The last AddRoundKey and the output of rows `first` + STEP * j; the upper four
 * first, see above.
 */
template <mode MODE, int ROUNDS, uint32_t STEP, class HASH>
static __device__ __forceinline__ void store_bitsliced(const aes_arguments &a, uint64_t first,
                                                       uint32_t s[PLANES], HASH &hash)
{
    constexpr bool masked = MODE == mode::cbc_decrypt || counts(MODE);
    aes_state key = round_key(a, ROUNDS);
    auto eight = hash.begin_eight();
#pragma unroll
    for (int half = 4; half >= 0; half -= 4) {
        aes_state mask[4] = {};
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (masked)
                mask[j] = mask_of<MODE>(a, first + STEP * (half + j));
        from_planes_half(s, half);
        if (MODE == mode::cbc_decrypt)
            __syncwarp();
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint32_t *q = s + half + j;
            aes_state block = {xor3(q[0], key.c0, mask[j].c0), xor3(q[8], key.c1, mask[j].c1),
                               xor3(q[16], key.c2, mask[j].c2), xor3(q[24], key.c3, mask[j].c3)};
            store_row<true, true>(a.out, a.blocks, first + STEP * (half + j), block);
            hash.add(eight, half + j, mask[j], block);
        }
    }
    hash.end_eight(eight);
}

/* The same inside unaligned buffers. */
template <mode MODE, int ROUNDS, uint32_t STEP, class HASH>
static __device__ __forceinline__ void store_bitsliced_inside(const aes_arguments &a,
                                                              uint64_t first, uint32_t s[PLANES],
                                                              uint4 *ends, HASH &hash)
{
    constexpr bool ctr = counts(MODE), cbc = MODE == mode::cbc_decrypt;
    uint32_t l = threadIdx.x % LANES, offset = a.in & 15;
    aes_state key = round_key(a, ROUNDS), beyond = {};
    auto eight = hash.begin_eight();
    if (cbc)
        beyond = to_state(*(granule_of(a.in, first + AES_CHUNK - 1) - l));
    if (ctr && a.in != 0) /* lane j's is row j's */
        beyond = to_state(*(granule_of(a.in, first + LANES + l % CHUNK_ROWS * STEP) - l));
#pragma unroll
    for (int half = 4; half >= 0; half -= 4) {
        aes_state mask[4] = {};
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (cbc || (ctr && a.in != 0))
                mask[j] = load_granule(a.in, first + STEP * (half + j) - (cbc ? 1 : 0));
        from_planes_half(s, half);
#pragma unroll
        for (int j = 3; j >= 0; j--) {
            const uint32_t *q = s + half + j;
            if (cbc)
                mask[j] = join_row(mask[j], beyond, offset);
            if (cbc && half + j == 0 && l == 0)
                mask[j] = block_before_inside(a, first);
            if (ctr)
                mask[j] = join_granules(mask[j], first_words(beyond, offset, half + j), offset);
            aes_state block = {xor3(q[0], key.c0, mask[j].c0), xor3(q[8], key.c1, mask[j].c1),
                               xor3(q[16], key.c2, mask[j].c2), xor3(q[24], key.c3, mask[j].c3)};
            store_inside(a.out, first + STEP * (half + j), block, ends + half + j);
            hash.add(eight, half + j, mask[j], block);
        }
    }
    hash.end_eight(eight);
    store_ends_of_rows<STEP>(a.out, first, ends);
}

/* Row j becomes s[j], s[8 + j], s[16 + j] and s[24 + j]. */
template <bool ALIGNED>
static __device__ __forceinline__ void load_chunk(const aes_arguments &a, uint64_t first,
                                                  uint32_t s[PLANES])
{
#pragma unroll
    for (int j = 0; j < BITSLICED_BLOCKS; j++) {
        aes_state block = ALIGNED ? load_row<true, true>(a.in, a.blocks, first + LANES * j)
                                  : load_granule(a.in, first + LANES * j);
        s[j] = block.c0, s[8 + j] = block.c1, s[16 + j] = block.c2, s[24 + j] = block.c3;
    }
    if (ALIGNED)
        return;
    uint32_t offset = a.in & 15;
    aes_state beyond = to_state(*(granule_of(a.in, first + AES_CHUNK) - threadIdx.x % LANES));
#pragma unroll
    for (int j = BITSLICED_BLOCKS - 1; j >= 0; j--) {
        aes_state block = join_row({s[j], s[8 + j], s[16 + j], s[24 + j]}, beyond, offset);
        s[j] = block.c0, s[8 + j] = block.c1, s[16 + j] = block.c2, s[24 + j] = block.c3;
    }
}

/* Runs a whole chunk. */
template <mode MODE, int ROUNDS, bool ALIGNED>
static __device__ __forceinline__ void chunk_bitsliced(const aes_hybrid_arguments &h,
                                                       uint64_t first, uint4 *ends)
{
    uint32_t s[PLANES];
    load_chunk<ALIGNED>(h.aes, first, s);
    to_planes(s);
#pragma unroll
    for (int p = 0; p < PLANES; p++)
        s[p] ^= h.planes[0][p];
    bitsliced_rounds<decrypts(MODE), 1, ROUNDS>(s, h.planes);
    no_hash none;
    if constexpr (ALIGNED)
        store_bitsliced<MODE, ROUNDS, LANES>(h.aes, first, s, none);
    else
        store_bitsliced_inside<MODE, ROUNDS, LANES>(h.aes, first, s, ends, none);
}

#endif
