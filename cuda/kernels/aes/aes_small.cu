/*
 * AES for work that cannot pay for filling more than one table: 32 KiB of
 * shared memory a block, the other rows' tables are its rotations.
 *
 * Never fewer than 32 copies: with bank conflicts, timing depends on data.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_kernels.cuh"

AES_KERNELS(small, 1, 256, cbc_decrypt_together, ctr, 10)
AES_KERNELS(small, 1, 256, cbc_decrypt_together, ctr, 12)
AES_KERNELS(small, 1, 256, cbc_decrypt_together, ctr, 14)
