/*
 * The kernels themselves, for any number of tables.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_KERNELS_CUH
#define GPUAES_KERNELS_AES_KERNELS_CUH

#include "cuda/kernels/aes/aes_modes.cuh"

#define AES_KERNEL(mode, size, threads, rounds, tables, function)                                  \
    extern "C" __global__ void __launch_bounds__(threads)                                          \
        aes_##mode##_##size##_##rounds(const __grid_constant__ aes_arguments arguments)            \
    {                                                                                              \
        function<tables, rounds>(arguments);                                                       \
    }                                                                                              \
    KERNEL(aes_##mode##_##size##_##rounds)

/* Names that the host finds kernels by: aes_MODE_SIZE_ROUNDS. */
#define AES_KERNELS(size, tables, threads, cbc_function, ctr_function, rounds)                     \
    AES_KERNEL(ecb_encrypt, size, threads, rounds, tables, ecb_encrypt)                            \
    AES_KERNEL(ecb_decrypt, size, threads, rounds, tables, ecb_decrypt)                            \
    AES_KERNEL(cbc_decrypt, size, threads, rounds, tables, cbc_function)                           \
    AES_KERNEL(ctr, size, threads, rounds, tables, ctr_function)

#endif
