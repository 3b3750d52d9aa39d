/*
 * The end of a text of GCM that is no whole block, NIST SP 800-38D section 6.5: one warp.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/intrinsics.cuh"

extern "C" __global__ void __launch_bounds__(32)
    gcm_rest(const __grid_constant__ gcm_rest_arguments g)
{
    const uint32_t i = threadIdx.x;
    if (i >= 16)
        return;
    const uint8_t mask = static_cast<uint8_t>(g.keystream[i / 4] >> 8 * (i % 4));
    uint8_t ciphertext = 0;
    if (i < g.bytes) {
        const uint8_t in = reinterpret_cast<const uint8_t *>(g.in)[i];
        reinterpret_cast<uint8_t *>(g.out)[i] = in ^ mask;
        ciphertext = g.decrypts != 0 ? in : in ^ mask;
    }
    reinterpret_cast<uint8_t *>(g.ciphertext)[i] = ciphertext;
}
KERNEL(gcm_rest)
