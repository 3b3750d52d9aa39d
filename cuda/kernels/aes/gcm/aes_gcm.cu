/*
 * GCM: the plain kernels of CTR, which hash what they write or read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_modes.cuh"
#include "cuda/kernels/aes/gcm/gcm_hash.cuh"

#define GCM_KERNEL(direction, size, threads, rounds, tables, function)                             \
    extern "C" __global__ void __launch_bounds__(threads)                                          \
        aes_gcm_##direction##_##size##_##rounds(const __grid_constant__ aes_gcm_arguments g)       \
    {                                                                                              \
        function<tables, rounds>(                                                                  \
            g.aes, gcm_hash<hashed_text::of_##direction##ion>(g.hash, g.aes.blocks));              \
    }                                                                                              \
    KERNEL(aes_gcm_##direction##_##size##_##rounds)

/* Names: aes_gcm_{encrypt,decrypt}_SIZE_ROUNDS. */
#define GCM_KERNELS(direction, rounds)                                                             \
    GCM_KERNEL(direction, small, 256, rounds, 1, ctr_hashed)                                       \
    GCM_KERNEL(direction, two_table, 1024, rounds, 2, ctr_by_tiles_hashed)

GCM_KERNELS(encrypt, 10)
GCM_KERNELS(encrypt, 12)
GCM_KERNELS(encrypt, 14)
GCM_KERNELS(decrypt, 10)
GCM_KERNELS(decrypt, 12)
GCM_KERNELS(decrypt, 14)
