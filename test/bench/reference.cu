/*
 * The benchmark's kernels of published work, and the library's own expansion of keys,
 * as one translation unit.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "reference_base64.cu"
#include "reference_ctr.cu"
#include "reference_reads.cu"

#include "../../cuda/kernels/aes_batch_keys.cu"
