/*
 * The kernels of messages in three sizes, of which the largest that has room is used.
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

/* A block has `threads` threads at most; of ECB, CBC and XTS with raw keys, `raw`. */
#define MESSAGE_KERNELS(size, tables, piece, threads, raw, rounds)                                 \
    MESSAGE_KERNEL(ctr, size, threads, rounds,                                                     \
                   message_counter<tables, piece, rounds, one_counter_key, false>)                 \
    MESSAGE_KERNEL(gcm, size, threads, rounds,                                                     \
                   message_counter<tables, piece, rounds, one_counter_key, true>)                  \
    MESSAGE_KERNEL(encrypt, size, threads, rounds,                                                 \
                   message_blocks<tables, piece, rounds, one_block_key, false>)                    \
    MESSAGE_KERNEL(decrypt, size, threads, rounds,                                                 \
                   message_blocks<tables, piece, rounds, one_block_key, true>)                     \
    MESSAGE_KERNEL(ctr_raw, size, threads, rounds,                                                 \
                   message_counter<tables, piece, rounds, raw_counter_key, false>)                 \
    MESSAGE_KERNEL(gcm_raw, size, threads, rounds,                                                 \
                   message_counter<tables, piece, rounds, raw_counter_key, true>)                  \
    MESSAGE_KERNEL(encrypt_raw, size, raw, rounds,                                                 \
                   message_blocks<tables, piece, rounds, raw_block_key, false>)                    \
    MESSAGE_KERNEL(decrypt_raw, size, raw, rounds,                                                 \
                   message_blocks<tables, piece, rounds, raw_block_key, true>)
#define MESSAGE_SIZE(size, tables, piece, threads, raw)                                            \
    MESSAGE_KERNELS(size, tables, piece, threads, raw, 10)                                         \
    MESSAGE_KERNELS(size, tables, piece, threads, raw, 12)                                         \
    MESSAGE_KERNELS(size, tables, piece, threads, raw, 14)

/*
 * Devices of 9.0 and 10.x have 228 KiB of shared memory, where four tables leave room for warps
 * with large pieces; those of 8.0 have 164 KiB, and room for small pieces. Devices of 8.6 and 8.9
 * have 100 KiB, and run what is compiled for 8.0: the kernels with one table are there, too.
 */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 900 ||                                             \
    (__CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200)
MESSAGE_SIZE(large, 4, MESSAGE_LARGE_PIECE, MESSAGE_LARGE_THREADS, MESSAGE_SMALL_THREADS)
#define HAS_LARGE_MESSAGE_KERNELS
#endif
#if !defined(__CUDACC__) || __CUDA_ARCH__ == 800
MESSAGE_SIZE(middle, 4, MESSAGE_SMALL_PIECE, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS)
#endif
#if !defined(__CUDACC__) || !defined(HAS_LARGE_MESSAGE_KERNELS)
MESSAGE_SIZE(small, 1, MESSAGE_SMALL_PIECE, MESSAGE_SMALL_THREADS, MESSAGE_SMALL_THREADS)
#endif
