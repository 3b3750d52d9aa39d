/*
 * Batches of much text in CTR or GCM with one key: bitsliced warps take whole spans together with
 * warps that look up tables, as in the hybrid kernels of single messages.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, and bitsliced warps
 * have none.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/batch/aes_batch.cuh"
#include "cuda/kernels/aes/hybrid/bitslice.cuh"

#ifdef HAS_HYBRID_KERNELS

/*
 * Table warps of each 32, and registers a thread of both kinds of warp. A table warp takes about
 * LATE spans in the time that a bitsliced one takes for its own.
 */
enum : uint32_t { TABLE_SHARE = 24, LATE = 4 };
enum { TABLE_REGISTERS = 56, BITSLICED_REGISTERS = 88 };

/* A whole span at aligned addresses, from block `from` of the message on. */
template <int ROUNDS, class HASH>
static __device__ __forceinline__ void span_bitsliced(const aes_batch_hybrid_arguments &h,
                                                      const batch_message &m, uint32_t from,
                                                      HASH &hash)
{
    uint32_t i = from + threadIdx.x % LANES, s[PLANES];
#pragma unroll
    for (int j = 0; j < BITSLICED_BLOCKS; j++) {
        aes_state block = counter_block(counter_at(m, i + j * LANES));
        s[j] = block.c0, s[8 + j] = block.c1, s[16 + j] = block.c2, s[24 + j] = block.c3;
    }
    to_planes(s);
#pragma unroll
    for (int p = 0; p < PLANES; p++)
        s[p] ^= h.planes[0][p];
    bitsliced_rounds<false, 1, ROUNDS>(s, h.planes);
    const uint4 *in = reinterpret_cast<const uint4 *>(m.in) + i;
    uint4 *out = reinterpret_cast<uint4 *>(m.out) + i;
    aes_state key = round_key(h.batch, ROUNDS);
    auto eight = hash.begin_eight();
#pragma unroll
    for (int half = 4; half >= 0; half -= 4) {
        aes_state text[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            text[j] = to_state(__ldcs(in + (half + j) * LANES));
        from_planes_half(s, half);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint32_t *q = s + half + j;
            aes_state block = {xor3(q[0], key.c0, text[j].c0), xor3(q[8], key.c1, text[j].c1),
                               xor3(q[16], key.c2, text[j].c2), xor3(q[24], key.c3, text[j].c3)};
            __stcs(out + (half + j) * LANES, to_vector(block));
            hash.add(eight, half + j, text[j], block);
        }
    }
    hash.end_eight(eight);
}

template <int ROUNDS>
static __device__ __forceinline__ void whole_span_bitsliced(const aes_batch_hybrid_arguments &h,
                                                            const batch_message &m, uint32_t number,
                                                            uint32_t from)
{
    if (h.batch.states == 0) {
        no_hash none;
        span_bitsliced<ROUNDS>(h, m, from, none);
        return;
    }
    span_hash hash(h.batch, m.key);
    span_bitsliced<ROUNDS>(h, m, from, hash);
    hash.finish(h.batch, number, hashed_after(m, from));
}

/* Near the end, bitsliced warps look up tables, too: all warps end together. */
template <int ROUNDS, bool BITSLICED>
static __device__ __forceinline__ void hybrid_messages(const aes_batch_hybrid_arguments &h,
                                                       uint32_t table_warps)
{
    const aes_batch_arguments &a = h.batch;
    const uint32_t *first = reinterpret_cast<const uint32_t *>(a.first);
    uint32_t lane = lane_address(), total = first[a.parallel];
    uint32_t spans = total / WHOLE_BLOCKS + (total % WHOLE_BLOCKS != 0 ? 1 : 0);
    uint32_t late = spans - min(spans, LATE * table_warps * gridDim.x);
    warp_key no_key = no_warp_key<4>();
    for (uint32_t span = take_span(a); span < spans; span = take_span(a)) {
        uint32_t block = span * WHOLE_BLOCKS, number = find_message(a, block);
        batch_message m = load_message(a, number);
        uint32_t from = block - first[number];
        if (!is_whole(a, m, number, block))
            parallel_span<4, ROUNDS, false, true>(lane, a, span, number, total, no_key);
        else if (BITSLICED && span < late && ((m.in | m.out) & 15) == 0)
            whole_span_bitsliced<ROUNDS>(h, m, number, from);
        else
            whole_span<4, ROUNDS, 1>(lane, a, m, number, from, a);
    }
}

template <int ROUNDS>
static __device__ __forceinline__ void batch_hybrid(const aes_batch_hybrid_arguments &h)
{
    fill_tables<4>(constant_tables.te);
    uint32_t warps = blockDim.x / LANES, table_warps = max(1u, warps * TABLE_SHARE / 32);
    if (threadIdx.x / LANES < table_warps) {
        fewer_registers<TABLE_REGISTERS>();
        hybrid_messages<ROUNDS, false>(h, table_warps);
    } else {
        more_registers<BITSLICED_REGISTERS>();
        hybrid_messages<ROUNDS, true>(h, table_warps);
    }
}

#define BATCH_HYBRID_KERNEL(rounds)                                                                \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        aes_batch_hybrid_##rounds(const __grid_constant__ aes_batch_hybrid_arguments arguments)    \
    {                                                                                              \
        batch_hybrid<rounds>(arguments);                                                           \
    }                                                                                              \
    KERNEL(aes_batch_hybrid_##rounds)

BATCH_HYBRID_KERNEL(10)
BATCH_HYBRID_KERNEL(12)
BATCH_HYBRID_KERNEL(14)

#endif
