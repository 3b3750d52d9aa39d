/*
 * AES in CTR mode as published work did it, with T-tables in each kind of memory: see
 * references.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/references/references.h"

#include "cuda/kernels/aes/aes_tables.cuh"
#include "cuda/kernels/common/blocks.cuh"

/* Of each row of the state; each is a rotation of the one before. */
struct row_tables {
    uint32_t te[4][256];
};

static constexpr row_tables make_row_tables()
{
    aes_tables tables = make_aes_tables();
    row_tables rows = {};
    for (int x = 0; x < 256; x++) {
        uint32_t w = tables.te[x];
        for (int row = 0; row < 4; row++) {
            rows.te[row][x] = w;
            w = w << 8 | w >> 24;
        }
    }
    return rows;
}

static __constant__ const row_tables constant_rows = make_row_tables();
static __device__ const row_tables global_rows = make_row_tables();

/* ---- Where the tables are -------------------------------------------------------- */

template <int COUNT> struct in_constant {
    enum { TABLES = COUNT, WORDS = 0 };
    static __device__ __forceinline__ void fill()
    {
    }
    template <int TABLE> static __device__ __forceinline__ uint32_t word(uint32_t x)
    {
        return constant_rows.te[TABLE][x];
    }
};

template <int COUNT> struct in_read_only {
    enum { TABLES = COUNT, WORDS = 0 };
    static __device__ __forceinline__ void fill()
    {
    }
    template <int TABLE> static __device__ __forceinline__ uint32_t word(uint32_t x)
    {
        return __ldg(&global_rows.te[TABLE][x]);
    }
};

template <int COUNT, int COPIES> struct in_shared {
    enum { TABLES = COUNT, WORDS = COUNT * 256 * COPIES };
    static __device__ __forceinline__ void fill()
    {
        for (uint32_t i = threadIdx.x; i < WORDS; i += blockDim.x)
            shared_words[i] = __ldg(&global_rows.te[i / (256 * COPIES)][i / COPIES % 256]);
        __syncthreads();
    }
    template <int TABLE> static __device__ __forceinline__ uint32_t word(uint32_t x)
    {
        return shared_words[TABLE * 256 * COPIES + x * COPIES + threadIdx.x % COPIES];
    }
};

/* ---- Rounds ---------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t byte_of(uint32_t x, int at)
{
    return x >> (8 * at) & 0xff;
}

template <class M, int ROW> static __device__ __forceinline__ uint32_t table(uint32_t x)
{
    uint32_t w = M::template word<ROW % M::TABLES>(byte_of(x, ROW));
    return ROW < M::TABLES ? w : __funnelshift_l(w, w, 8 * ROW);
}

template <class M>
static __device__ __forceinline__ uint32_t column(uint32_t row0, uint32_t row1, uint32_t row2,
                                                  uint32_t row3)
{
    return table<M, 0>(row0) ^ table<M, 1>(row1) ^ table<M, 2>(row2) ^ table<M, 3>(row3);
}

/* Bytes 1 and 2 of the first table are S(x). */
template <class M>
static __device__ __forceinline__ uint32_t last_column(uint32_t row0, uint32_t row1, uint32_t row2,
                                                       uint32_t row3)
{
    uint32_t low = __byte_perm(M::template word<0>(byte_of(row0, 0)),
                               M::template word<0>(byte_of(row1, 1)), 0x0051);
    uint32_t high = __byte_perm(M::template word<0>(byte_of(row2, 2)),
                                M::template word<0>(byte_of(row3, 3)), 0x6200);
    return __byte_perm(low, high, 0x7610);
}

/* Round keys in constant memory, and those that the block has expanded. */
static __device__ __forceinline__ aes_state round_key(const reference_ctr_arguments &a, int round)
{
    const uint32_t *w = &a.round_key[4 * round];
    return {w[0], w[1], w[2], w[3]};
}

struct shared_schedule {
    uint32_t *words;
};

static __device__ __forceinline__ aes_state round_key(const shared_schedule &s, int round)
{
    return to_state(reinterpret_cast<const uint4 *>(s.words)[round]);
}

template <class M, int ROUNDS, class KEY>
static __device__ __forceinline__ aes_state encrypt(aes_state s, const KEY &key)
{
    s = s ^ round_key(key, 0);
#pragma unroll
    for (int round = 1; round < ROUNDS; round++) {
        aes_state t = {column<M>(s.c0, s.c1, s.c2, s.c3), column<M>(s.c1, s.c2, s.c3, s.c0),
                       column<M>(s.c2, s.c3, s.c0, s.c1), column<M>(s.c3, s.c0, s.c1, s.c2)};
        s = t ^ round_key(key, round);
    }
    aes_state t = {last_column<M>(s.c0, s.c1, s.c2, s.c3), last_column<M>(s.c1, s.c2, s.c3, s.c0),
                   last_column<M>(s.c2, s.c3, s.c0, s.c1), last_column<M>(s.c3, s.c0, s.c1, s.c2)};
    return t ^ round_key(key, ROUNDS);
}

/* ---- CTR ------------------------------------------------------------------------- */

/* The counter, and `i` more. */
static __device__ __forceinline__ aes_state counter_block(const reference_ctr_arguments &a,
                                                          uint64_t i)
{
    uint64_t low = a.counter[1] + i, high = a.counter[0] + (low < i ? 1 : 0);
    return {swap_bytes(static_cast<uint32_t>(high >> 32)), swap_bytes(static_cast<uint32_t>(high)),
            swap_bytes(static_cast<uint32_t>(low >> 32)), swap_bytes(static_cast<uint32_t>(low))};
}

template <class M, int ROUNDS, class KEY>
static __device__ __forceinline__ void ctr(const reference_ctr_arguments &a, const KEY &key)
{
    const uint4 *in = reinterpret_cast<const uint4 *>(a.in);
    uint4 *out = reinterpret_cast<uint4 *>(a.out);
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < a.blocks;
         i += stride)
        out[i] = to_vector(to_state(in[i]) ^ encrypt<M, ROUNDS>(counter_block(a, i), key));
}

/* ---- Key expansion by one thread: FIPS 197 section 5.2 ---------------------------- */

template <class M> static __device__ __forceinline__ uint32_t sub_word(uint32_t w)
{
    return last_column<M>(w, w, w, w);
}

template <class M, int ROUNDS>
static __device__ __forceinline__ void expand(const uint32_t *key, uint32_t *schedule)
{
    constexpr uint32_t WORDS = ROUNDS - 6;
    uint32_t constant = 1;
    for (uint32_t i = 0; i < WORDS; i++)
        schedule[i] = key[i];
    for (uint32_t i = WORDS; i < 4 * (ROUNDS + 1); i++) {
        uint32_t w = schedule[i - 1];
        if (i % WORDS == 0) {
            w = sub_word<M>(__funnelshift_r(w, w, 8)) ^ constant;
            constant = constant << 1 ^ (constant >> 7) * 0x11b;
        } else if (WORDS == 8 && i % 4 == 0) {
            w = sub_word<M>(w);
        }
        schedule[i] = schedule[i - WORDS] ^ w;
    }
}

template <class M, int ROUNDS>
static __device__ __forceinline__ void expand_and_ctr(const reference_ctr_arguments &a)
{
    shared_schedule key = {shared_words + M::WORDS};
    if (threadIdx.x == 0)
        expand<M, ROUNDS>(a.round_key, key.words);
    __syncthreads();
    ctr<M, ROUNDS>(a, key);
}

/* ---- Kernels --------------------------------------------------------------------- */

#define REFERENCE_KERNEL(name, rounds, tables, work)                                               \
    extern "C" __global__ void __launch_bounds__(256, 8)                                           \
        reference_ctr_##name##_##rounds(const __grid_constant__ reference_ctr_arguments arguments) \
    {                                                                                              \
        using M = tables;                                                                          \
        M::fill();                                                                                 \
        work;                                                                                      \
    }                                                                                              \
    KERNEL(reference_ctr_##name##_##rounds)

#define REFERENCE_KERNELS(name, tables)                                                            \
    REFERENCE_KERNEL(name, 10, tables, (ctr<M, 10>(arguments, arguments)))                         \
    REFERENCE_KERNEL(name, 14, tables, (ctr<M, 14>(arguments, arguments)))

using shared_1 = in_shared<1, 1>;
using shared_4 = in_shared<4, 1>;
using shared_1x16 = in_shared<1, 16>;
using shared_1x32 = in_shared<1, 32>;

REFERENCE_KERNELS(constant_1, in_constant<1>)
REFERENCE_KERNELS(constant_4, in_constant<4>)
REFERENCE_KERNELS(read_only_1, in_read_only<1>)
REFERENCE_KERNELS(read_only_4, in_read_only<4>)
REFERENCE_KERNELS(shared_1, shared_1)
REFERENCE_KERNELS(shared_4, shared_4)
REFERENCE_KERNELS(shared_1x16, shared_1x16)
REFERENCE_KERNELS(shared_1x32, shared_1x32)
REFERENCE_KERNEL(expand_4, 10, shared_4, (expand_and_ctr<M, 10>(arguments)))
REFERENCE_KERNEL(expand_4, 14, shared_4, (expand_and_ctr<M, 14>(arguments)))
