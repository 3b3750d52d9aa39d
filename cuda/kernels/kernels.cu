/*
 * All kernels as one translation unit, so that one run of nvcc makes one fat
 * binary.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "aes_batch.cu"
#include "aes_batch_keys.cu"
#include "aes_hybrid.cu"
#include "aes_large.cu"
#include "aes_small.cu"
#include "aes_two_table.cu"
#include "base64_decode.cu"
#include "base64_encode.cu"
#include "cbc_chain.cu"
