/*
 * Bare reads of each kind of memory: see references.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/references/references.h"

#include "cuda/kernels/common/blocks.cuh"

/* For each word which one comes next, as the bytes from the table's beginning. */
template <int WORDS> struct cycle {
    uint32_t next[WORDS];
};

template <int WORDS> static constexpr cycle<WORDS> make_cycle()
{
    cycle<WORDS> made = {};
    for (uint32_t position = 0; position < WORDS; position++)
        made.next[reference_word(position, WORDS)] = reference_word(position + 1, WORDS) * 4;
    return made;
}

template <int WORDS> static __constant__ const cycle<WORDS> constant_cycle = make_cycle<WORDS>();
template <int WORDS> static __device__ const cycle<WORDS> global_cycle = make_cycle<WORDS>();

/* ---- Where the table is: what is read from it is where to read next ----------------- */

template <class T> static __device__ __forceinline__ const T *bytes_on(const T *p, uint32_t bytes)
{
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(p) + bytes);
}

template <int N> struct way_in_constant {
    enum { WORDS = N, STEP = 4 };
    static __device__ __forceinline__ void fill()
    {
    }
    static __device__ __forceinline__ uint32_t read(uint32_t at)
    {
        return *bytes_on(constant_cycle<N>.next, at);
    }
};

template <int N> struct way_in_read_only {
    enum { WORDS = N, STEP = 4 };
    static __device__ __forceinline__ void fill()
    {
    }
    static __device__ __forceinline__ uint32_t read(uint32_t at)
    {
        return __ldg(bytes_on(global_cycle<N>.next, at));
    }
};

template <int N, int COPIES> struct way_in_shared {
    enum { WORDS = N, STEP = 4 * COPIES };
    static __device__ __forceinline__ void fill()
    {
        for (uint32_t i = threadIdx.x; i < N * COPIES; i += blockDim.x)
            shared_words[i] = __ldg(&global_cycle<N>.next[i / COPIES]) * COPIES;
        __syncthreads();
    }
    static __device__ __forceinline__ uint32_t read(uint32_t at)
    {
        return *bytes_on<uint32_t>(shared_words + threadIdx.x % COPIES, at);
    }
};

/* ---- Kernels --------------------------------------------------------------------- */

template <class M> static __device__ __forceinline__ void reads(const reference_reads_arguments &a)
{
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, at[REFERENCE_CHAINS], sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < REFERENCE_CHAINS; i++)
        at[i] = reference_word(reference_start(thread, i, a.coherent), M::WORDS) * M::STEP;
#pragma unroll 1
    for (uint32_t step = 0; step < a.steps; step += REFERENCE_UNROLL)
#pragma unroll
        for (uint32_t i = 0; i < REFERENCE_CHAINS * REFERENCE_UNROLL; i++)
            at[i % REFERENCE_CHAINS] = M::read(at[i % REFERENCE_CHAINS]);
#pragma unroll
    for (uint32_t i = 0; i < REFERENCE_CHAINS; i++)
        sum += at[i] / M::STEP;
    reinterpret_cast<uint32_t *>(a.out)[thread] = sum;
}

#define REFERENCE_READS(name, memory)                                                              \
    extern "C" __global__ void __launch_bounds__(1024)                                             \
        reference_reads_##name(const __grid_constant__ reference_reads_arguments arguments)        \
    {                                                                                              \
        using M = memory;                                                                          \
        M::fill();                                                                                 \
        reads<M>(arguments);                                                                       \
    }                                                                                              \
    KERNEL(reference_reads_##name)

using shared_256 = way_in_shared<256, 1>;
using shared_1024 = way_in_shared<1024, 1>;
using own_bank_256 = way_in_shared<256, LANES>;

REFERENCE_READS(constant_256, way_in_constant<256>)
REFERENCE_READS(constant_1024, way_in_constant<1024>)
REFERENCE_READS(read_only_256, way_in_read_only<256>)
REFERENCE_READS(read_only_1024, way_in_read_only<1024>)
REFERENCE_READS(shared_256, shared_256)
REFERENCE_READS(shared_1024, shared_1024)
REFERENCE_READS(own_bank_256, own_bank_256)
