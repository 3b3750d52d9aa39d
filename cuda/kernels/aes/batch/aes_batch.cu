/*
 * The kernels of batches. `large` has four tables, one block a multiprocessor;
 * `small`, for devices whose blocks may not have 128 KiB of shared memory, one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/batch/aes_batch.cuh"

#define BATCH_KERNEL(name, tables, rounds, decrypt, one_key)                                       \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        name(const __grid_constant__ aes_batch_arguments arguments)                                \
    {                                                                                              \
        batch<tables, rounds, decrypt, one_key>(arguments);                                        \
    }                                                                                              \
    KERNEL(name)

#define BATCH_KERNELS(size, tables, rounds)                                                        \
    BATCH_KERNEL(aes_batch_encrypt_one_##size##_##rounds, tables, rounds, false, true)             \
    BATCH_KERNEL(aes_batch_encrypt_many_##size##_##rounds, tables, rounds, false, false)           \
    BATCH_KERNEL(aes_batch_decrypt_one_##size##_##rounds, tables, rounds, true, true)              \
    BATCH_KERNEL(aes_batch_decrypt_many_##size##_##rounds, tables, rounds, true, false)

BATCH_KERNELS(small, 1, 10)
BATCH_KERNELS(small, 1, 12)
BATCH_KERNELS(small, 1, 14)
BATCH_KERNELS(large, 4, 10)
BATCH_KERNELS(large, 4, 12)
BATCH_KERNELS(large, 4, 14)

extern "C" __global__ void aes_batch_chain(const __grid_constant__ aes_batch_arguments a)
{
    const uint32_t *first = reinterpret_cast<const uint32_t *>(a.first);
    uint32_t total = first[a.parallel], blocks = a.rows * LANES;
    uint32_t spans = total / blocks + (total % blocks != 0), stride = gridDim.x * blockDim.x;
    for (uint32_t span = blockIdx.x * blockDim.x + threadIdx.x; span < spans; span += stride) {
        uint32_t low = 0, high = a.parallel;
        while (high - low > 1) {
            uint32_t middle = (low + high) / 2;
            if (first[middle] <= span * blocks)
                low = middle;
            else
                high = middle;
        }
        batch_message m = load_message(a, low);
        uint32_t i = span * blocks - first[low];
        if (i != 0 && m.mode == AES_BATCH_CBC)
            store_block(a.chain, span, load_block(m.in, m.blocks, i - 1));
    }
}
KERNEL(aes_batch_chain)
