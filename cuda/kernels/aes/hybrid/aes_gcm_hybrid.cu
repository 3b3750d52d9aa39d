/*
 * GCM for large work: the hybrid kernels of CTR, which hash what they write or read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/hybrid/aes_hybrid.cuh"
#include "cuda/kernels/aes/hybrid/gcm_hybrid_hash.cuh"

#ifdef HAS_HYBRID_KERNELS

#define HYBRID_GCM_KERNEL(name, direction, rounds, aligned)                                        \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        name(const __grid_constant__ aes_gcm_hybrid_arguments arguments)                           \
    {                                                                                              \
        hybrid<mode::gcm_##direction, rounds, aligned>(                                            \
            arguments.hybrid, gcm_hybrid_hash<hashed_text::of_##direction##ion>(                   \
                                  arguments.hash, arguments.hybrid.aes.blocks));                   \
    }                                                                                              \
    KERNEL(name)

/* Names: aes_gcm_{encrypt,decrypt}_hybrid_ROUNDS, the same with unaligned. */
#define HYBRID_GCM(direction, rounds)                                                              \
    HYBRID_GCM_KERNEL(aes_gcm_##direction##_hybrid_##rounds, direction, rounds, true)              \
    HYBRID_GCM_KERNEL(aes_gcm_##direction##_hybrid_unaligned_##rounds, direction, rounds, false)

HYBRID_GCM(encrypt, 10)
HYBRID_GCM(encrypt, 12)
HYBRID_GCM(encrypt, 14)
HYBRID_GCM(decrypt, 10)
HYBRID_GCM(decrypt, 12)
HYBRID_GCM(decrypt, 14)

#endif
