/*
 * The hybrid kernels of ECB, CBC decryption and CTR.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/hybrid/aes_hybrid.cuh"

#ifdef HAS_HYBRID_KERNELS

#define HYBRID_KERNEL(name, mode, rounds, aligned)                                                 \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        name(const __grid_constant__ aes_hybrid_arguments arguments)                               \
    {                                                                                              \
        hybrid<mode, rounds, aligned>(arguments, no_hash{});                                       \
    }                                                                                              \
    KERNEL(name)

#define HYBRID_MODE(mode_name, rounds)                                                             \
    HYBRID_KERNEL(aes_##mode_name##_hybrid_##rounds, mode::mode_name, rounds, true)                \
    HYBRID_KERNEL(aes_##mode_name##_hybrid_unaligned_##rounds, mode::mode_name, rounds, false)

/* Names that the host finds kernels by: aes_MODE_hybrid_ROUNDS, the same with unaligned. */
#define HYBRID(rounds)                                                                             \
    HYBRID_MODE(ecb_encrypt, rounds)                                                               \
    HYBRID_MODE(ecb_decrypt, rounds)                                                               \
    HYBRID_MODE(cbc_decrypt, rounds)                                                               \
    HYBRID_MODE(ctr, rounds)

HYBRID(10)
HYBRID(12)
HYBRID(14)

#endif
