/*
 * AES for large work: two tables in 64 KiB of shared memory, which a block may have from compute
 * capability 7.5 on, 1024 threads a block, a persistent grid. The tables are those of rows 0 and 1;
 * those of rows 2 and 3 are the same, turned by 16 bits, one rotation a column. A round is 16 loads
 * a block, which the shared-memory port bounds: four tables, without rotations, are hardly faster.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_kernels.cuh"

AES_KERNELS(two_table, 2, 1024, cbc_decrypt, ctr_by_tiles, 10)
AES_KERNELS(two_table, 2, 1024, cbc_decrypt, ctr_by_tiles, 12)
AES_KERNELS(two_table, 2, 1024, cbc_decrypt, ctr_by_tiles, 14)
