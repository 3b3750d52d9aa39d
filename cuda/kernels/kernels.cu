/*
 * All kernels as one translation unit, so that one run of nvcc makes one fat
 * binary.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes_batch.cu"
#include "cuda/kernels/aes_batch_keys.cu"
#include "cuda/kernels/aes_hybrid.cu"
#include "cuda/kernels/aes_large.cu"
#include "cuda/kernels/aes_small.cu"
#include "cuda/kernels/aes_two_table.cu"
#include "cuda/kernels/base64_decode.cu"
#include "cuda/kernels/base64_encode.cu"
#include "cuda/kernels/cbc_chain.cu"
