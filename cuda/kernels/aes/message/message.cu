/*
 * The kernels of messages: with four tables where shared memory has room for them, else with one.
 * See arguments.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/message/message_blocks.cuh"
#include "cuda/kernels/aes/message/message_counter.cuh"

#define MESSAGE_KERNEL(kind, size, threads, rounds, ...)                                           \
    extern "C" __global__ void __launch_bounds__(threads, 1)                                       \
        message_##kind##_##size##_##rounds(const __grid_constant__ message_arguments arguments)    \
    {                                                                                              \
        __VA_ARGS__(arguments);                                                                    \
    }                                                                                              \
    KERNEL(message_##kind##_##size##_##rounds)

#define MESSAGE_KERNELS(size, tables, one, raw, raw_block, rounds)                                 \
    MESSAGE_KERNEL(ctr, size, one, rounds,                                                         \
                   message_counter<tables, rounds, one_counter_key, false>)                        \
    MESSAGE_KERNEL(gcm, size, one, rounds, message_counter<tables, rounds, one_counter_key, true>) \
    MESSAGE_KERNEL(encrypt, size, one, rounds,                                                     \
                   message_blocks<tables, rounds, one_block_key, false>)                           \
    MESSAGE_KERNEL(decrypt, size, one, rounds,                                                     \
                   message_blocks<tables, rounds, one_block_key, true>)                            \
    MESSAGE_KERNEL(ctr_raw, size, raw, rounds,                                                     \
                   message_counter<tables, rounds, raw_counter_key, false>)                        \
    MESSAGE_KERNEL(gcm_raw, size, raw, rounds,                                                     \
                   message_counter<tables, rounds, raw_counter_key, true>)                         \
    MESSAGE_KERNEL(encrypt_raw, size, raw_block, rounds,                                           \
                   message_blocks<tables, rounds, raw_block_key, false>)                           \
    MESSAGE_KERNEL(decrypt_raw, size, raw_block, rounds,                                           \
                   message_blocks<tables, rounds, raw_block_key, true>)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 ||                     \
    (__CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200)
MESSAGE_KERNELS(large, 4, MESSAGE_LARGE_THREADS, MESSAGE_RAW_THREADS, MESSAGE_SMALL_THREADS, 10)
MESSAGE_KERNELS(large, 4, MESSAGE_LARGE_THREADS, MESSAGE_RAW_THREADS, MESSAGE_SMALL_THREADS, 12)
MESSAGE_KERNELS(large, 4, MESSAGE_LARGE_THREADS, MESSAGE_RAW_THREADS, MESSAGE_SMALL_THREADS, 14)
#define HAS_LARGE_MESSAGE_KERNELS
#endif
#if !defined(__CUDACC__) || !defined(HAS_LARGE_MESSAGE_KERNELS)
MESSAGE_KERNELS(small, 1, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS, 10)
MESSAGE_KERNELS(small, 1, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS, 12)
MESSAGE_KERNELS(small, 1, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS, 14)
#endif
