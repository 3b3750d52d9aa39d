/*
 * All kernels as one translation unit, so that one run of nvcc makes one fat
 * binary.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_small.cu"
#include "cuda/kernels/aes/aes_two_table.cu"
#include "cuda/kernels/aes/cbc_chain.cu"
#include "cuda/kernels/aes/gcm/aes_gcm.cu"
#include "cuda/kernels/aes/gcm/gcm_powers.cu"
#include "cuda/kernels/aes/gcm/gcm_rest.cu"
#include "cuda/kernels/aes/hybrid/aes_gcm_hybrid.cu"
#include "cuda/kernels/aes/hybrid/aes_hybrid.cu"
#include "cuda/kernels/aes/hybrid/message_hybrid.cu"
#include "cuda/kernels/aes/message/message.cu"
#include "cuda/kernels/aes/message/message_plan.cu"
#include "cuda/kernels/aes/random/random.cu"
#include "cuda/kernels/aes/xts/aes_xts.cu"
#include "cuda/kernels/base64/base64_decode.cu"
#include "cuda/kernels/base64/base64_encode.cu"
