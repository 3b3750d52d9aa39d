/*
 * The benchmark's kernels of published work, as one translation unit.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/references/base64.cu"
#include "bench/references/ctr.cu"
#include "bench/references/limits.cu"
#include "bench/references/reads.cu"
