/*
 * AES for work that cannot pay for filling 128 KiB of tables, and for devices
 * that do not give a block so much: one table of 32 copies, 32 KiB of shared
 * memory (40 KiB to decrypt); the other rows' tables are its rotations.
 *
 * Never fewer than 32 copies: with bank conflicts, timing depends on data.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "aes_rounds.cuh"

namespace
{

struct small_tables {
    static constexpr uint32_t inverse_sbox = AES_SMALL_SHARED;

    template <int ROW> static __device__ __forceinline__ uint32_t word(uint32_t x, uint32_t lane)
    {
        return shared_word((x >> (8 * ROW) & 255) * (LANES * 4) + lane);
    }

    template <int ROW> static __device__ __forceinline__ uint32_t table(uint32_t x, uint32_t lane)
    {
        uint32_t w = word<ROW>(x, lane);
        return __funnelshift_l(w, w, 8 * ROW);
    }

    /* Bytes 1 and 2 of te are S(x). */
    static __device__ __forceinline__ uint32_t substitute(uint32_t lane, uint32_t row0,
                                                          uint32_t row1, uint32_t row2,
                                                          uint32_t row3)
    {
        uint32_t low = __byte_perm(word<0>(row0, lane), word<1>(row1, lane), 0x0051);
        uint32_t high = __byte_perm(word<2>(row2, lane), word<3>(row3, lane), 0x6200);
        return __byte_perm(low, high, 0x7610);
    }
};

__device__ __forceinline__ void fill_small(const uint32_t *table)
{
    for (uint32_t i = threadIdx.x; i < AES_SMALL_SHARED / 4; i += blockDim.x)
        shared_words[i] = table[i / LANES];
}

template <int ROUNDS> __device__ __forceinline__ void ctr_small(const aes_arguments &arguments)
{
    uint32_t lane = lane_offset();
    counter first = first_counter(arguments);
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < arguments.blocks; i += stride)
        store_keystream(
            arguments, i,
            encrypt_block<small_tables, ROUNDS>(lane, counter_block(advance(first, i)), arguments));
}

} // namespace

/* Names that the host finds kernels by: aes_MODE_small_ROUNDS. */
#define SMALL(rounds)                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        aes_ecb_encrypt_small_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        fill_small(constant_tables.te);                                                            \
        __syncthreads();                                                                           \
        ecb_encrypt<small_tables, rounds>(arguments);                                              \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        aes_ctr_small_##rounds(const __grid_constant__ aes_arguments arguments)                    \
    {                                                                                              \
        fill_small(constant_tables.te);                                                            \
        __syncthreads();                                                                           \
        ctr_small<rounds>(arguments);                                                              \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        aes_ecb_decrypt_small_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        fill_small(constant_tables.td);                                                            \
        fill_inverse_sbox<small_tables>();                                                         \
        __syncthreads();                                                                           \
        ecb_decrypt<small_tables, rounds>(arguments);                                              \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        aes_cbc_decrypt_small_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        fill_small(constant_tables.td);                                                            \
        fill_inverse_sbox<small_tables>();                                                         \
        __syncthreads();                                                                           \
        cbc_decrypt<small_tables, rounds>(arguments);                                              \
    }                                                                                              \
    KERNEL(aes_ecb_encrypt_small_##rounds)                                                         \
    KERNEL(aes_ctr_small_##rounds)                                                                 \
    KERNEL(aes_ecb_decrypt_small_##rounds)                                                         \
    KERNEL(aes_cbc_decrypt_small_##rounds)

SMALL(10)
SMALL(12)
SMALL(14)
