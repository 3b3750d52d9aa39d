/*
 * AES for large work: warps that look up tables run concurrently with bitsliced warps on
 * the same multiprocessor.
 *
 * Table warps are bound by the shared-memory port, and leave most of the
 * arithmetic idle: the addresses are made by DP4A on a pipe that has nothing
 * else to do. Bitsliced warps need arithmetic alone. Both take their work from
 * the queue of their block: see work_queue.cuh.
 *
 * Timing is independent of data: table lookups are to the lane's own bank, and
 * bitsliced warps have no tables.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_HYBRID_CUH
#define GPUAES_KERNELS_AES_HYBRID_CUH

#include "cuda/kernels/aes/hybrid/hybrid_ctr.cuh"

#ifdef HAS_HYBRID_KERNELS

/*
 * How a block is divided: table warps of 32, registers a thread of each kind (0:
 * as compiled, 64), chunks that a warp takes at a time. Measured on an H200; the
 * neighbours differ by up to 5 %, so measure again after a change. Without
 * alignment bitsliced warps pay more for access than table warps do.
 */
template <mode MODE, bool ALIGNED> struct division {
    static constexpr bool ctr = counts(MODE), hashes = ctr && MODE != mode::ctr;
    static constexpr uint32_t table_share = !ALIGNED || hashes || decrypts(MODE) ? 24 : 20;
    static constexpr int table_registers = !ALIGNED || hashes ? 56 : ctr ? 48 : 0;
    static constexpr int bitsliced_registers = !ALIGNED ? 80 : ctr ? 72 : 0;
    static constexpr uint32_t table_chunks = GROUP_CHUNKS;
    static constexpr uint32_t bitsliced_chunks = ctr ? CTR_BITSLICED_CHUNKS : 1;

    /*
     * Pieces of a chunk in the rest. One, where a warp has to do all of a chunk: CBC keeps the
     * block before each, and unaligned rows leave their ends.
     */
    static constexpr uint32_t pieces = ALIGNED && MODE != mode::cbc_decrypt ? 4 : 1;
};

/* Chunks of ECB and CBC before the first that blocks have in their parts. */
template <bool ALIGNED> constexpr uint32_t skipped = ALIGNED ? 0 : 1;

/* Whole chunks, and the edges outside them, which table warps do first. */
template <mode MODE, bool ALIGNED>
static __device__ __forceinline__ uint32_t whole_chunks(const aes_arguments &a)
{
    if (counts(MODE))
        return static_cast<uint32_t>(lay_out<ALIGNED>(a).pages * PAGE_CHUNKS);
    if (ALIGNED)
        return static_cast<uint32_t>(a.blocks / AES_CHUNK);
    return static_cast<uint32_t>((max(a.blocks, AES_CHUNK + uint64_t{1}) - 1) / AES_CHUNK - 1);
}

/* Blocks `begin` on, at most a chunk: the last, partial one; unaligned, also the first. */
template <mode MODE, int ROUNDS, bool ALIGNED>
static __device__ __forceinline__ void edge_rows(uint32_t lane, const aes_arguments &a,
                                                 uint64_t begin)
{
    if (begin >= a.blocks)
        return;
    uint32_t blocks = static_cast<uint32_t>(min(a.blocks - begin, uint64_t{AES_CHUNK}));
    rows_by_tables<MODE, ROUNDS, ALIGNED, false>(lane, a, begin, (blocks + LANES - 1) / LANES);
}

/* Where the chunks of a group of ECB and CBC begin. */
template <bool ALIGNED> static __device__ __forceinline__ uint64_t first_of_group(uint32_t group)
{
    return (static_cast<uint64_t>(group) * GROUP_CHUNKS + skipped<ALIGNED>)*AES_CHUNK;
}

template <mode MODE, int ROUNDS, bool ALIGNED>
static __device__ __forceinline__ void run_by_tables(uint32_t lane, const aes_arguments &a,
                                                     piece_run run, uint4 *cache)
{
    constexpr uint32_t rows = CHUNK_ROWS / division<MODE, ALIGNED>::pieces; /* of a piece */
    uint64_t begin = first_of_group<ALIGNED>(run.group) + run.begin * (rows * LANES);
    if constexpr (ALIGNED)
        rows_by_tables<MODE, ROUNDS, ALIGNED, true>(lane, a, begin, (run.end - run.begin) * rows);
    else
        rows_inside<MODE, ROUNDS>(lane, a, begin, (run.end - run.begin) * rows, cache);
}

template <mode MODE, int ROUNDS, bool ALIGNED, class HASH>
static __device__ __forceinline__ void table_warp(const aes_hybrid_arguments &h, work_queue &queue,
                                                  const block_part &part, uint32_t warp,
                                                  uint32_t warps, uint4 *cache, HASH &hash)
{
    constexpr uint32_t pieces = division<MODE, ALIGNED>::pieces;
    const aes_arguments &a = h.aes;
    uint32_t lane = lane_address();
    ctr_layout layout;
    if constexpr (counts(MODE)) {
        layout = lay_out<ALIGNED>(a);
        ctr_edge<ROUNDS, ALIGNED>(lane, a, 0, layout.head, warp, warps, hash);
        ctr_edge<ROUNDS, ALIGNED>(lane, a, layout.head + layout.pages * PAGE, a.blocks, warp, warps,
                                  hash);
    } else {
        uint64_t end =
            static_cast<uint64_t>(whole_chunks<MODE, ALIGNED>(a) + skipped<ALIGNED>) * AES_CHUNK;
        /* A chunk at an edge is one warp's: rows of CBC depend on their order. */
#pragma unroll 1
        for (uint32_t edge = warp; edge <= skipped<ALIGNED>; edge += warps)
            edge_rows<MODE, ROUNDS, ALIGNED>(lane, a, edge == 0 ? end : 0);
    }
    for (bool is_rest = false;;) {
        piece_span span =
            is_rest
                ? take_rest<pieces>(queue, part)
                : take_chunks<pieces, false>(queue, part, division<MODE, ALIGNED>::table_chunks);
        if (span.begin == span.end && is_rest)
            break;
        is_rest = is_rest || span.begin == span.end;
        while (span.begin != span.end) {
            piece_run run = next_run<pieces>(part, span);
            if constexpr (counts(MODE))
                ctr_by_tables<ROUNDS, ALIGNED, pieces>(lane, a, layout, run, cache, hash);
            else
                run_by_tables<MODE, ROUNDS, ALIGNED>(lane, a, run, cache);
        }
    }
}

template <mode MODE, int ROUNDS, bool ALIGNED, class HASH>
static __device__ __forceinline__ void bitsliced_warp(const aes_hybrid_arguments &h,
                                                      work_queue &queue, const block_part &part,
                                                      uint4 *cache, HASH &hash)
{
    constexpr uint32_t pieces = division<MODE, ALIGNED>::pieces;
    for (;;) {
        piece_span span =
            take_chunks<pieces, true>(queue, part, division<MODE, ALIGNED>::bitsliced_chunks);
        if (span.begin == span.end)
            break;
        while (span.begin != span.end) {
            piece_run run = next_run<pieces>(part, span);
            uint32_t from = run.begin / pieces, to = run.end / pieces;
            if constexpr (counts(MODE))
                ctr_bitsliced<MODE, ROUNDS, ALIGNED>(lane_address(), h, lay_out<ALIGNED>(h.aes),
                                                     run.group, from, to, cache, hash);
            else
                chunk_bitsliced<MODE, ROUNDS, ALIGNED>(
                    h, first_of_group<ALIGNED>(run.group) + from * AES_CHUNK, cache);
        }
    }
}

template <mode MODE, int ROUNDS, bool ALIGNED, class HASH>
static __device__ __forceinline__ void hybrid(const aes_hybrid_arguments &h, HASH hash)
{
    using D = division<MODE, ALIGNED>;
    uint32_t warps = blockDim.x / LANES, warp = threadIdx.x / LANES;
    uint32_t table_warps = max(1u, warps * D::table_share / 32);
    work_queue &queue = *reinterpret_cast<work_queue *>(shared_words + AES_LARGE_SHARED / 4);
    uint4 *cache = reinterpret_cast<uint4 *>(&queue) + AES_HYBRID_QUEUE_SHARED / 16 +
                   warp * (AES_HYBRID_WARP_SHARED / 16);
    block_part part = part_of_block(whole_chunks<MODE, ALIGNED>(h.aes));
    if (threadIdx.x == 0)
        queue = {};
    fill_tables<4>(decrypts(MODE) ? constant_tables.td : constant_tables.te); /* and a barrier */
    if (warp < table_warps) {
        if (D::table_registers != 0)
            fewer_registers<D::table_registers>();
        /* Edges are spread over all blocks: equal parts leave none of them time for more. */
        table_warp<MODE, ROUNDS, ALIGNED>(h, queue, part, warp * gridDim.x + blockIdx.x,
                                          gridDim.x * table_warps, cache, hash);
    } else {
        if (D::bitsliced_registers != 0)
            more_registers<D::bitsliced_registers>();
        bitsliced_warp<MODE, ROUNDS, ALIGNED>(h, queue, part, cache, hash);
    }
    hash.finish();
}

#endif
#endif
