/*
 * Keys of XTS in batches: pairs, whose second keys encrypt the tweaks of data units.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_XTS_BATCH_CUH
#define GPUAES_KERNELS_XTS_BATCH_CUH

#include "cuda/kernels/aes/batch/gcm_batch.cuh"

static __device__ __forceinline__ key_at tweak_schedule_of(const device_batch_arguments &a,
                                                           uint32_t key)
{
    return {reinterpret_cast<const uint4 *>(a.tweaks) + uint64_t{key} * (AES_BATCH_KEY_WORDS / 4)};
}

/*
 * Both keys of a pair are the same, and it is for encryption: a schedule of that begins with the
 * key. Time does not depend on keys, but for what the message's status tells.
 */
static __device__ __forceinline__ bool has_equal_keys(const device_batch_arguments &a, uint32_t key)
{
    const uint4 *first = schedule_of(a.gcm, key).words, *second = tweak_schedule_of(a, key).words;
    uint32_t blocks = a.gcm.rounds == 14 ? 2 : 1, differs = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < blocks; i++) {
        aes_state s = to_state(first[i]) ^ to_state(second[i]);
        differs |= s.c0 | s.c1 | s.c2 | s.c3;
    }
    return a.decrypts == 0 && differs == 0;
}

#endif
