/*
 * The hybrid kernels of messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/hybrid/message_hybrid.cuh"

#ifdef HAS_HYBRID_KERNELS

#define MESSAGE_HYBRID_KERNEL(rounds)                                                              \
    extern "C" __global__ void __launch_bounds__(MESSAGE_HYBRID_THREADS)                           \
        message_ctr_hybrid_##rounds(const __grid_constant__ message_hybrid_arguments arguments)    \
    {                                                                                              \
        message_hybrid<rounds>(arguments);                                                         \
    }                                                                                              \
    KERNEL(message_ctr_hybrid_##rounds)

MESSAGE_HYBRID_KERNEL(10)
MESSAGE_HYBRID_KERNEL(12)
MESSAGE_HYBRID_KERNEL(14)

#endif
