/*
 * AES of many messages in one launch: see arguments.h.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, and
 * which lanes share a round key depends on the messages' order alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_BATCH_CUH
#define GPUAES_KERNELS_AES_BATCH_CUH

#include "cuda/kernels/aes/batch/aes_batch_quads.cuh"
#include "cuda/kernels/aes/batch/aes_batch_whole.cuh"
#include "cuda/kernels/aes/xts/xts_tweak.cuh"

/* ---- Serial, a lane a message ------------------------------------------------------ */

/*
 * The next block is on its way during the rounds. Where addresses are multiples of 16,
 * nothing branches: a branch around a load waits for it.
 */
template <int TABLES, int ROUNDS, class KEY>
static __device__ __forceinline__ void encrypt_chain(uint32_t lane, const batch_message &m,
                                                     uint32_t from, uint32_t to, const KEY &key)
{
    aes_state s = from == 0 ? m.iv : load_block(m.out, m.blocks, from - 1);
    aes_state next = load_block(m.in, m.blocks, from);
    uint32_t end = min(to, m.blocks);
    if (((m.in | m.out) & 15) == 0) {
        const uint4 *in = reinterpret_cast<const uint4 *>(m.in);
        uint4 *out = reinterpret_cast<uint4 *>(m.out);
#pragma unroll 1
        for (uint32_t i = from; i < end; i++) {
            aes_state text = next;
            next = to_state(in[min(i + 1, m.blocks - 1)]);
            s = encrypt_block<TABLES, ROUNDS>(lane, s ^ text, key);
            __stcs(out + i, to_vector(s));
        }
        return;
    }
#pragma unroll 1
    for (uint32_t i = from; i < end; i++) {
        aes_state text = next;
        next = load_block(m.in, m.blocks, i + 1);
        s = encrypt_block<TABLES, ROUNDS>(lane, s ^ text, key);
        store_block(m.out, i, s);
    }
}

/* ---- Serial, of either kind --------------------------------------------------------- */

template <int TABLES, int ROUNDS, bool ONE_KEY>
static __device__ __forceinline__ void serial_messages(uint32_t lane, const aes_batch_arguments &a)
{
    /* First warps of all blocks, then the second ones: every multiprocessor has as many. */
    uint32_t warp = threadIdx.x / LANES * gridDim.x + blockIdx.x;
    uint32_t step = blockDim.x / LANES * gridDim.x;
    if (a.quads != 0) {
#pragma unroll 1
        for (uint32_t unit = warp; unit * QUADS < a.serial; unit += step)
            quad_message<TABLES, ROUNDS, ONE_KEY>(lane, a,
                                                  unit * QUADS + threadIdx.x % LANES / QUAD);
        return;
    }
#pragma unroll 1
    for (uint32_t unit = warp; unit * LANES < a.serial; unit += step) {
        uint32_t n = unit * LANES + threadIdx.x % LANES;
        if (n < a.serial) {
            batch_message m = load_message(a, a.parallel + n);
            if (ONE_KEY)
                encrypt_chain<TABLES, ROUNDS>(lane, m, a.from, a.to, a);
            else if (threadIdx.x / LANES < a.lane_keys)
                encrypt_chain<TABLES, ROUNDS>(lane, m, a.from, a.to,
                                              keep_key<TABLES, ROUNDS>(a, m.key));
            else
                encrypt_chain<TABLES, ROUNDS>(lane, m, a.from, a.to, key_in_memory(a, m.key));
        }
        __syncwarp();
    }
}

/* ---- Parallel -------------------------------------------------------------------- */

/* The tile that the warp is in, as in ctr_by_tiles(). */
struct warp_tile {
    ctr_tile tile;
    uint32_t message; /* ~0: none yet */
    uint32_t begins;  /* its first block, of the message; below 0 it wraps */
};

/* A row of one message in CTR whose counters differ in byte 15 alone; what is combined. */
template <int TABLES, int ROUNDS, class KEY>
static __device__ __forceinline__ aes_state tile_row(uint32_t lane, counter c, uint32_t message,
                                                     uint32_t i, warp_tile &t, const KEY &key)
{
    uint32_t byte15 = static_cast<uint32_t>(c.low) & 0xff, begins = i - byte15;
    if (t.message != message || t.begins != begins) {
        c.low -= byte15;
        t = {begin_tile<TABLES>(lane, c, key), message, begins};
    }
    return encrypt_from<TABLES, ROUNDS, 3>(lane, after_round2<TABLES>(lane, t.tile, byte15), key);
}

/* What the warp knows of the row that it is at. */
struct batch_row {
    uint32_t number;  /* the message of this lane */
    uint32_t i;       /* the lane's block of it */
    bool is_together; /* all lanes have one message */
};

/* Runs one block: `text` is what was read, `before` the ciphertext block before it. */
template <int TABLES, int ROUNDS, bool DECRYPT, class KEY>
static __device__ __forceinline__ aes_state lone_block(uint32_t lane, const batch_message &m,
                                                       uint32_t i, aes_state text, aes_state before,
                                                       const KEY &key)
{
    if (DECRYPT) {
        aes_state s = decrypt_block<TABLES, ROUNDS>(lane, text, key);
        return m.mode == AES_BATCH_CBC ? s ^ before : s;
    }
    bool is_ctr = m.mode >= AES_BATCH_CTR;
    aes_state counter = counter_block(counter_at(m, i));
    aes_state s = encrypt_block<TABLES, ROUNDS>(lane, is_ctr ? counter : text, key);
    return is_ctr ? s ^ text : s;
}

/* Blocks of a converged warp. */
template <int TABLES, int ROUNDS, bool DECRYPT, class KEY>
static __device__ __forceinline__ aes_state batch_block(uint32_t lane, const batch_message &m,
                                                        const batch_row &row, aes_state text,
                                                        aes_state before, warp_tile &tile,
                                                        const KEY &key)
{
    counter c = counter_at(m, row.i);
    uint32_t low = static_cast<uint32_t>(c.low) & 0xff, l = threadIdx.x % LANES;
    bool is_in_tile =
        row.is_together && m.mode >= AES_BATCH_CTR && low >= l && low - l <= 256 - LANES;
    if (!DECRYPT && __all_sync(ALL_LANES, is_in_tile))
        return tile_row<TABLES, ROUNDS>(lane, c, row.number, row.i, tile, key) ^ text;
    return lone_block<TABLES, ROUNDS, DECRYPT>(lane, m, row.i, text, before, key);
}

/*
 * A span of rows, a lane a block. Rows follow each other in the warp, which so has
 * the block before each row; a message that begins within a row gets lanes of its own.
 */
template <int TABLES, int ROUNDS, bool DECRYPT, bool ONE_KEY>
static __device__ __forceinline__ void parallel_span(uint32_t lane, const aes_batch_arguments &a,
                                                     uint32_t span, uint32_t number, uint32_t total,
                                                     warp_key &shared_key)
{
    const uint32_t *first = reinterpret_cast<const uint32_t *>(a.first);
    uint32_t l = threadIdx.x % LANES, blocks = a.rows * LANES;
    uint32_t row = span * blocks, end = min(total - row, blocks) + row;
    uint32_t begins = first[number], ends = first[number + 1];
    batch_message m = load_message(a, number);
    aes_state last = {}; /* of the row before */
    warp_tile tile = {{}, ~uint32_t{0}, 0};
    aes_state tweak = {}; /* of the lane's block, in XTS */
    if (m.mode == AES_BATCH_XTS)
        tweak =
            times_x(times_x(move_by_rows(m.iv, (row - begins) / LANES), (row - begins) % LANES), l);
#pragma unroll 1
    for (; row < end; row += LANES) {
        uint32_t block = row + l;
        if (block >= ends && block < total) {
            while (block >= ends)
                ends = first[++number + 1];
            begins = first[number];
            m = load_message(a, number);
            if (m.mode == AES_BATCH_XTS) /* it begins within this row */
                tweak = times_x(m.iv, block - begins);
        }
        uint32_t i = block - begins;
        aes_state text = load_block(m.in, m.blocks, i), before = {};
        if (DECRYPT) {
            before = shuffle(text, (l - 1) % LANES);
            if (i == 0)
                before = m.iv;
            else if (l == 0 && row != span * blocks)
                before = last;
            else if (l == 0 && m.mode == AES_BATCH_CBC)
                before = a.chain != 0 ? to_state(reinterpret_cast<const uint4 *>(a.chain)[span])
                                      : load_block(m.in, m.blocks, i - 1);
            last = shuffle(text, LANES - 1);
        }
        if (m.mode == AES_BATCH_XTS)
            text = text ^ tweak;
        aes_state s;
        batch_row at = {number, i,
                        __all_sync(ALL_LANES, number == __shfl_sync(ALL_LANES, number, 0)) != 0};
        if (ONE_KEY) {
            s = batch_block<TABLES, ROUNDS, DECRYPT>(lane, m, at, text, before, tile, a);
        } else {
            uint32_t key = __shfl_sync(ALL_LANES, m.key, 0);
            if (__all_sync(ALL_LANES, m.key == key))
                s = batch_block<TABLES, ROUNDS, DECRYPT>(lane, m, at, text, before, tile,
                                                         share_key(a, shared_key, key));
            else
                s = lone_block<TABLES, ROUNDS, DECRYPT>(lane, m, i, text, before,
                                                        key_in_memory(a, m.key));
        }
        if (m.mode == AES_BATCH_XTS) {
            s = s ^ tweak;
            tweak = times_x32(tweak);
        }
        if (at.is_together)
            store_blocks(m.out, m.blocks, i - l, s);
        else if (i < m.blocks)
            store_block(m.out, i, s);
    }
}

/* The next span for the caller's converged warp. */
static __device__ __forceinline__ uint32_t take_span(const aes_batch_arguments &a)
{
    uint32_t span = 0;
    if (threadIdx.x % LANES == 0)
        span = atomicAdd(reinterpret_cast<uint32_t *>(a.taken), 1u);
    return __shfl_sync(ALL_LANES, span, 0);
}

/* Rows of whole spans that share each reading of a round key from shared memory. */
enum { MANY_KEYS_WIDE = 2 };

template <int TABLES, int ROUNDS, bool DECRYPT, bool ONE_KEY>
static __device__ __forceinline__ void parallel_messages(uint32_t lane,
                                                         const aes_batch_arguments &a)
{
    if (a.parallel == 0)
        return;
    const uint32_t *first = reinterpret_cast<const uint32_t *>(a.first);
    uint32_t total = first[a.parallel];
    uint32_t spans = (total + a.rows * LANES - 1) / (a.rows * LANES); /* 0: all are empty */
    warp_key key = no_warp_key<TABLES>();
    for (uint32_t span = take_span(a); span < spans; span = take_span(a)) {
        uint32_t block = span * a.rows * LANES, number = find_message(a, block);
        batch_message m = load_message(a, number);
        if (DECRYPT || !is_whole(a, m, number, block))
            parallel_span<TABLES, ROUNDS, DECRYPT, ONE_KEY>(lane, a, span, number, total, key);
        else if (ONE_KEY)
            whole_span<TABLES, ROUNDS, 1>(lane, a, m, number, block - first[number], a);
        else
            whole_span<TABLES, ROUNDS, MANY_KEYS_WIDE>(lane, a, m, number, block - first[number],
                                                       share_key(a, key, m.key));
    }
}

template <int TABLES, int ROUNDS, bool DECRYPT, bool ONE_KEY>
static __device__ __forceinline__ void batch(const aes_batch_arguments &a)
{
    fill_tables<TABLES>(DECRYPT ? constant_tables.td : constant_tables.te);
    uint32_t lane = lane_address();
    if (!DECRYPT)
        serial_messages<TABLES, ROUNDS, ONE_KEY>(lane, a);
    parallel_messages<TABLES, ROUNDS, DECRYPT, ONE_KEY>(lane, a);
    if (!ONE_KEY)
        wipe_keys<TABLES>(a);
}

#endif
