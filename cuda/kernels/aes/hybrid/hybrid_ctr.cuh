/*
 * CTR of the hybrid kernels. A page is the 16384 blocks whose counters differ in
 * the low 14 bits alone: byte 15, and the low six bits of byte 14. In round 1,
 * byte 15 changes column 0 only and byte 14 column 1, so that round 2 is a sum of
 * what each of them contributes:
 *
 *   after round 2 = part of byte 15 (a lane keeps it) + part of byte 14 (a row)
 *
 * and every block begins at round 3: 192 lookups of 224 are left (AES-256).
 *
 * A page has eight groups of 32 values of byte 15, one a lane; a group has eight
 * chunks of eight rows, the values of byte 14. A chunk is one piece of work for
 * a bitsliced warp: bit j of the lane's planes is row j.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_HYBRID_CTR_CUH
#define GPUAES_KERNELS_HYBRID_CTR_CUH

#include "cuda/kernels/aes/hybrid/hybrid_blocks.cuh"
#include "cuda/kernels/common/work_queue.cuh"

enum { PAGE = 16384, PAGE_CHUNKS = PAGE / AES_CHUNK, ROW_STEP = 256 };
enum { PAGE_GROUPS = PAGE_CHUNKS / GROUP_CHUNKS };
enum { CTR_CACHE = 64 }; /* vectors of a warp alone; the ends of rows are behind them */

/* How the blocks lie in pages: `head` of them come before the first whole one. */
struct ctr_layout {
    counter first; /* of the first whole page */
    uint64_t head, pages;
};

/* Unaligned, the first and the last block are in no page: see hybrid_inside.cuh. */
template <bool ALIGNED> static __device__ __forceinline__ ctr_layout lay_out(const aes_arguments &a)
{
    ctr_layout layout;
    counter begin = first_counter(a.iv);
    uint64_t head = (0 - begin.low) % PAGE;
    layout.head = min(a.blocks, ALIGNED || head != 0 ? head : uint64_t{PAGE});
    layout.first = advance(begin, layout.head);
    uint64_t left = a.blocks - layout.head;
    layout.pages = (ALIGNED || left == 0 ? left : left - 1) / PAGE;
    return layout;
}

/* What the chunks of a group share. */
struct ctr_group {
    uint64_t block;   /* of the lane's row 0 is block + lane */
    uint32_t byte14;  /* of row 0 */
    uint32_t column1; /* after round 1, without byte 14's part */
    aes_state byte15; /* part of the lane's byte 15 after round 2, all that is constant included */
};

/* Group `number` of all pages. */
static __device__ __forceinline__ ctr_group begin_group(uint32_t lane, const ctr_layout &layout,
                                                        uint32_t number, const aes_arguments &a)
{
    using T = aes_lookup<4>;
    uint64_t page = static_cast<uint64_t>(number / PAGE_GROUPS) * PAGE;
    uint32_t group = number % PAGE_GROUPS;
    aes_state s = counter_block(advance(layout.first, page));
    aes_state k1 = round_key(a, 1), k2 = round_key(a, 2);
    ctr_group g;
    g.block = layout.head + page + group * LANES;
    g.byte14 = s.c3 >> 16 & 255;
    s = s ^ round_key(a, 0);

    uint32_t c0 = xor3(T::table<0>(s.c0, lane), T::table<1>(s.c1, lane), T::table<2>(s.c2, lane));
    uint32_t byte15 = group * LANES + threadIdx.x % LANES;
    c0 = xor3(c0, k1.c0, T::table<3>(s.c3 ^ byte15 << 24, lane));
    g.column1 =
        xor3(T::table<0>(s.c1, lane), T::table<1>(s.c2, lane), T::table<3>(s.c0, lane)) ^ k1.c1;
    uint32_t c2 = T::column(lane, s.c2, s.c3, s.c0, s.c1, k1.c2);
    uint32_t c3 = T::column(lane, s.c3, s.c0, s.c1, s.c2, k1.c3);

    g.byte15.c0 = xor3(T::table<0>(c0, lane), T::table<2>(c2, lane), T::table<3>(c3, lane)) ^ k2.c0;
    g.byte15.c1 = xor3(T::table<3>(c0, lane), T::table<1>(c2, lane), T::table<2>(c3, lane)) ^ k2.c1;
    g.byte15.c2 = xor3(T::table<2>(c0, lane), T::table<0>(c2, lane), T::table<1>(c3, lane)) ^ k2.c2;
    g.byte15.c3 = xor3(T::table<1>(c0, lane), T::table<3>(c2, lane), T::table<0>(c3, lane)) ^ k2.c3;
    return g;
}

/* The part of byte 14 of a row. */
static __device__ __forceinline__ aes_state row_part(uint32_t lane, const ctr_group &g,
                                                     uint32_t row, const aes_arguments &a)
{
    using T = aes_lookup<4>;
    uint32_t s3 = (g.byte14 + row) << 16 ^ a.round_key[3];
    uint32_t c1 = g.column1 ^ T::table<2>(s3, lane);
    return {T::table<1>(c1, lane), T::table<0>(c1, lane), T::table<3>(c1, lane),
            T::table<2>(c1, lane)};
}

/* ---- Table warps ------------------------------------------------------------ */

/* Blocks that are in no whole page; each warp of `warps` takes some rows. */
template <int ROUNDS, bool ALIGNED, class HASH>
static __device__ __forceinline__ void ctr_edge(uint32_t lane, const aes_arguments &a,
                                                uint64_t begin, uint64_t end, uint32_t warp,
                                                uint32_t warps, HASH &hash)
{
#pragma unroll 1
    for (uint64_t first = begin + warp * LANES; first < end; first += warps * LANES) {
        aes_state s = counter_block(advance(first_counter(a.iv), first + threadIdx.x % LANES));
        s = encrypt_block<4, ROUNDS>(lane, s, a);
        aes_state text = {};
        if (a.in != 0)
            text = load_row<ALIGNED, false>(a.in, end, first);
        s = s ^ text;
        store_row<ALIGNED, false>(a.out, end, first, s);
        if (first + threadIdx.x % LANES < end)
            hash.add_single(text, s, first + threadIdx.x % LANES);
    }
}

template <int ROUNDS, bool ALIGNED, class HASH>
static __device__ __forceinline__ void row_ctr(uint32_t lane, const aes_arguments &a,
                                               const ctr_group &g, uint4 *part, uint32_t row,
                                               HASH &hash)
{
    uint64_t first = g.block + row * ROW_STEP;
    aes_state mask = {}, beyond = {};
    if (ALIGNED)
        mask = mask_of<mode::ctr>(a, first);
    else if (a.in != 0) {
        mask = load_granule(a.in, first);
        if (threadIdx.x % LANES == LANES - 1)
            beyond = load_granule(a.in, first + 1);
    }
    aes_state s = g.byte15 ^ to_state(part[row]);
#pragma unroll
    for (int round = 3; round < ROUNDS; round++)
        s = encrypt_round<4>(lane, s, round_key(a, round));
    if (!ALIGNED)
        mask = join_granules(mask, beyond, a.in & 15);
    s = encrypt_last<4>(lane, s, round_key(a, ROUNDS) ^ mask);
    hash.add(mask, s);
    if (ALIGNED) {
        store_row<true, true>(a.out, a.blocks, first, s);
        return;
    }
    uint4 *ends = part + CTR_CACHE;
    store_inside(a.out, first, s, ends + row % CHUNK_ROWS);
    if (row % CHUNK_ROWS == CHUNK_ROWS - 1)
        store_ends_of_rows<ROW_STEP>(a.out, first - (CHUNK_ROWS - 1) * ROW_STEP, ends);
}

/* The hash of a run is ended with it: others may come before the next. */
template <int ROUNDS, bool ALIGNED, uint32_t PIECES, class HASH>
static __device__ __forceinline__ void ctr_by_tables(uint32_t lane, const aes_arguments &a,
                                                     const ctr_layout &layout, piece_run run,
                                                     uint4 *part, HASH &hash)
{
    ctr_group g = begin_group(lane, layout, run.group, a);
    uint32_t row = CHUNK_ROWS / PIECES * run.begin, end = CHUNK_ROWS / PIECES * run.end;
    uint32_t l = threadIdx.x % LANES;
    __syncwarp();
    part[l] = to_vector(row_part(lane, g, l, a));
    part[LANES + l] = to_vector(row_part(lane, g, LANES + l, a));
    __syncwarp();
#pragma unroll 1
    for (; row < end; row++)
        row_ctr<ROUNDS, ALIGNED>(lane, a, g, part, row, hash);
    hash.end_run(g.block + (end - 1) * ROW_STEP + l);
}

/* ---- Bitsliced warps -------------------------------------------------------- */

enum { CTR_BITSLICED_CHUNKS = 4 }; /* at a time, whose rows' parts the cache has room for */

/*
 * Planes of the parts of byte 14, for chunks `from` to from + 3 of a group: chunk
 * n has eight vectors. Lanes 0 to 3 are those that count.
 */
static __device__ __forceinline__ void fill_row_planes(uint32_t lane, const aes_arguments &a,
                                                       const ctr_group &g, uint32_t from,
                                                       uint4 *part, uint4 *planes)
{
    uint32_t l = threadIdx.x % LANES, s[PLANES];
    __syncwarp();
    part[l] = to_vector(row_part(lane, g, 8 * from + l, a));
    __syncwarp();
    const uint4 *rows = part + 8 * (l % CTR_BITSLICED_CHUNKS);
#pragma unroll
    for (int j = 0; j < BITSLICED_BLOCKS; j++) {
        uint4 v = rows[j];
        s[j] = v.x, s[8 + j] = v.y, s[16 + j] = v.z, s[24 + j] = v.w;
    }
    to_planes(s);
    if (l < CTR_BITSLICED_CHUNKS) {
#pragma unroll
        for (int p = 0; p < PLANES; p += 4)
            planes[8 * l + p / 4] = make_uint4(s[p], s[p + 1], s[p + 2], s[p + 3]);
    }
    __syncwarp();
}

/* Chunks `from` to `to` - 1 of a group, CTR_BITSLICED_CHUNKS at most. */
template <mode MODE, int ROUNDS, bool ALIGNED, class HASH>
static __device__ __forceinline__ void
ctr_bitsliced(uint32_t lane, const aes_hybrid_arguments &h, const ctr_layout &layout,
              uint32_t group, uint32_t from, uint32_t to, uint4 *part, HASH &hash)
{
    uint4 *planes = part + LANES;
    ctr_group g = begin_group(lane, layout, group, h.aes);
    fill_row_planes(lane, h.aes, g, from, part, planes);
    uint32_t rows[4] = {g.byte15.c0, g.byte15.c1, g.byte15.c2, g.byte15.c3};
    transpose_bytes<0>(rows[0], rows[1], rows[2], rows[3]);
#pragma unroll 1
    for (uint32_t chunk = from; chunk < to; chunk++) {
        uint32_t s[PLANES];
#pragma unroll
        for (int p = 0; p < PLANES; p += 4) {
            uint4 v = planes[8 * (chunk - from) + p / 4];
            s[p] = v.x ^ spread_bit(rows[p / 8], p % 8);
            s[p + 1] = v.y ^ spread_bit(rows[p / 8], p % 8 + 1);
            s[p + 2] = v.z ^ spread_bit(rows[p / 8], p % 8 + 2);
            s[p + 3] = v.w ^ spread_bit(rows[p / 8], p % 8 + 3);
        }
        bitsliced_rounds<false, 3, ROUNDS>(s, h.planes);
        uint64_t first = g.block + chunk * CHUNK_ROWS * ROW_STEP;
        if constexpr (ALIGNED)
            store_bitsliced<MODE, ROUNDS, ROW_STEP>(h.aes, first, s, hash);
        else
            store_bitsliced_inside<MODE, ROUNDS, ROW_STEP>(h.aes, first, s, part + CTR_CACHE, hash);
    }
    hash.end_run(g.block + (8 * to - 1) * ROW_STEP + threadIdx.x % LANES);
}

#endif
