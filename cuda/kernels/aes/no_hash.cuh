/*
 * What CTR kernels tell of the blocks they write, where nothing hashes them: see gcm_hash.cuh and
 * gcm_hybrid_hash.cuh.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_NO_HASH_CUH
#define GPUAES_KERNELS_NO_HASH_CUH

#include "cuda/kernels/common/blocks.cuh"

struct no_hash {
    struct eight {
    };
    __device__ __forceinline__ void add_at(aes_state, aes_state, uint64_t, bool)
    {
    }
    __device__ __forceinline__ void add_single(aes_state, aes_state, uint64_t)
    {
    }
    __device__ __forceinline__ void add(aes_state, aes_state)
    {
    }
    __device__ __forceinline__ void end_run(uint64_t)
    {
    }
    __device__ __forceinline__ eight begin_eight() const
    {
        return {};
    }
    __device__ __forceinline__ void add(eight &, int, aes_state, aes_state) const
    {
    }
    __device__ __forceinline__ void end_eight(const eight &)
    {
    }
    __device__ __forceinline__ void finish()
    {
    }
};

#endif
