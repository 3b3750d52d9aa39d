/*
 * AES for large work where a block may have 64 but not 128 KiB of shared memory
 * (compute capability 7.5, 8.6, 8.9, 12.0): the tables of rows 0 and 1; those
 * of rows 2 and 3 are the same, turned by 16 bits, one rotation a column.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_kernels.cuh"

AES_KERNELS(two_table, 2, 1024, cbc_decrypt, ctr_by_tiles, 10)
AES_KERNELS(two_table, 2, 1024, cbc_decrypt, ctr_by_tiles, 12)
AES_KERNELS(two_table, 2, 1024, cbc_decrypt, ctr_by_tiles, 14)
