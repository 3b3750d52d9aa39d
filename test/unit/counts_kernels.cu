/*
 * What kernels count with, by itself: counter blocks, and segments of messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_modes.cuh"
#include "cuda/kernels/aes/hybrid/message_hybrid.cuh"

/* Each thread moves a counter block: as kernels of whole texts do, and of messages of CTR and GCM.
 */
extern "C" __global__ void test_counters(const uint4 *counters, const uint64_t *blocks,
                                         uint4 *moved)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t words[] = {counters[i].x, counters[i].y, counters[i].z, counters[i].w};
    moved[3 * i] = to_vector(counter_block(advance(first_counter(words), blocks[i])));
    for (uint32_t is_gcm = 0; is_gcm < 2; is_gcm++) {
        counter_words c = counter_words::from(to_state(counters[i]));
        c.advance(static_cast<uint32_t>(blocks[i]), is_gcm == 0);
        moved[3 * i + 1 + is_gcm] = to_vector(c.block());
    }
}
KERNEL(test_counters)

/* Each thread writes eight counter blocks that follow each other, as bitsliced warps do. */
extern "C" __global__ void test_counters_in_rows(const uint4 *counters, uint32_t *rows)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t s[PLANES];
    write_counters(counter_words::from(to_state(counters[i])), s);
    for (uint32_t n = 0; n < PLANES; n++)
        rows[PLANES * i + n] = s[n];
}
KERNEL(test_counters_in_rows)

/* Thread n cuts segment numbers[n] of message n, of numbers ~0 the last one: five words each. */
extern "C" __global__ void test_segments(const message_arguments *arguments,
                                         const uint32_t *numbers, uint32_t *segments)
{
    const uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= arguments->count)
        return;
    const segment s = cut_segment(*arguments, n, numbers[n], numbers[n] == ~0u);
    segments[5 * n] = s.is_on && s.is_good;
    segments[5 * n + 1] = s.from;
    segments[5 * n + 2] = s.blocks(*arguments);
    segments[5 * n + 3] = s.text_bytes(*arguments);
    segments[5 * n + 4] = s.is_last(*arguments);
}
KERNEL(test_segments)
