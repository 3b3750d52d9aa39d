/*
 * AES for large work: four tables in 128 KiB of shared memory, one block of
 * 1024 threads a multiprocessor, a persistent grid. A round is 16 loads, 16 DP4A
 * and 8 other instructions a block: bound by the shared-memory port.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_kernels.cuh"

AES_KERNELS(large, 4, 1024, cbc_decrypt, ctr_by_tiles, 10)
AES_KERNELS(large, 4, 1024, cbc_decrypt, ctr_by_tiles, 12)
AES_KERNELS(large, 4, 1024, cbc_decrypt, ctr_by_tiles, 14)
