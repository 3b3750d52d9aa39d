/*
 * The plan of a launch with many messages: the lengths in order, so that the lanes of a warp have
 * about as much to do, and full segments apart from the ends of messages. See arguments.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/message/message.cuh"

/*
 * The class of a length: that of fewer than 64 blocks is its own, others share one with those that
 * are longer by 3 % at most. The longest come first.
 */
static __device__ __forceinline__ uint32_t class_of(uint32_t blocks)
{
    uint32_t ascending = blocks;
    if (blocks >= 64) {
        uint32_t bits = 31 - static_cast<uint32_t>(__clz(static_cast<int>(blocks)));
        ascending = 64 + 32 * (bits - 6) + (blocks >> (bits - 5)) % 32;
    }
    return MESSAGE_CLASSES - 1 - ascending;
}

/* The sum of what the threads of the block before this one have; of all in *total. */
static __device__ __forceinline__ uint32_t sum_before(uint32_t own, uint32_t *words,
                                                      uint32_t *total)
{
    uint32_t l = threadIdx.x % LANES, warp = threadIdx.x / LANES, sum = own;
#pragma unroll
    for (uint32_t distance = 1; distance < LANES; distance *= 2) {
        uint32_t other = __shfl_up_sync(ALL_LANES, sum, distance);
        sum += l >= distance ? other : 0;
    }
    __syncthreads();
    if (l == LANES - 1)
        words[warp] = sum;
    __syncthreads();
    uint32_t before = 0, all = 0;
    for (uint32_t i = 0; i < blockDim.x / LANES; i++) {
        before += i < warp ? words[i] : 0;
        all += words[i];
    }
    *total = all;
    return before + sum - own;
}

/* Replaces the count of each class by that of the classes before it. */
static __device__ __forceinline__ void place_classes(uint32_t *counts, uint32_t *words)
{
    uint32_t each = MESSAGE_CLASSES / blockDim.x, total, sum = 0;
    uint32_t *own = counts + threadIdx.x * each;
    for (uint32_t i = 0; i < each; i++)
        sum += own[i];
    sum = sum_before(sum, words, &total);
    for (uint32_t i = 0; i < each; i++) {
        uint32_t count = own[i];
        own[i] = sum;
        sum += count;
    }
    __syncthreads();
}

/* Counts the lane in its class, or not at all; returns how many were counted there before. */
static __device__ __forceinline__ uint32_t count_in_class(uint32_t *counts, uint32_t own,
                                                          bool is_counted)
{
    uint32_t counted = __ballot_sync(ALL_LANES, is_counted);
    uint32_t first = __shfl_sync(ALL_LANES, own, 0);
    if (__all_sync(ALL_LANES, is_counted && own == first) == 0)
        return is_counted ? atomicAdd(&counts[own], 1u) : 0;
    uint32_t before = 0, l = threadIdx.x % LANES;
    if (l == 0)
        before = atomicAdd(&counts[own], static_cast<uint32_t>(LANES));
    return __shfl_sync(ALL_LANES, before, 0) +
           static_cast<uint32_t>(__popc(counted & ((1u << l) - 1)));
}

/* Writes the messages with full segments, of which each thread has some, into `full`. */
static __device__ __forceinline__ void list_full(const message_arguments &a, uint32_t first,
                                                 const uint32_t full[MESSAGE_TILE], uint32_t *words)
{
    unsigned long long *base = reinterpret_cast<unsigned long long *>(words + LANES);
    uint32_t entries = 0, segments = 0, all_entries, all_segments;
#pragma unroll
    for (uint32_t i = 0; i < MESSAGE_TILE; i++) {
        entries += full[i] != 0 ? 1 : 0;
        segments += full[i];
    }
    entries = sum_before(entries, words, &all_entries);
    segments = sum_before(segments, words, &all_segments);
    if (threadIdx.x == 0)
        *base = atomicAdd(&queue_of(a).full,
                          static_cast<unsigned long long>(all_entries) << 32 | all_segments);
    __syncthreads();
    uint32_t begin = static_cast<uint32_t>(*base) + segments;
    uint32_t entry = static_cast<uint32_t>(*base >> 32) + entries;
#pragma unroll
    for (uint32_t i = 0; i < MESSAGE_TILE; i++) {
        if (full[i] == 0)
            continue;
        uint32_t n = first + i * blockDim.x;
        reinterpret_cast<message_full *>(a.full)[entry++] = {begin, n};
        sum_of(a, n).begin = begin;
        begin += full[i];
    }
}

extern "C" __global__ void __launch_bounds__(1024)
    message_plan(const __grid_constant__ message_arguments a)
{
    uint32_t *counts = shared_words, *words = shared_words + MESSAGE_CLASSES;
    uint32_t number[MESSAGE_TILE], place[MESSAGE_TILE], full[MESSAGE_TILE];
    uint32_t tile = blockIdx.x * blockDim.x * MESSAGE_TILE, first = tile + threadIdx.x;
    for (uint32_t i = threadIdx.x; i < MESSAGE_CLASSES; i += blockDim.x)
        counts[i] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < MESSAGE_TILE; i++) {
        uint32_t n = first + i * blockDim.x;
        segment s = n < a.count ? cut_segment(a, n, 0, true) : no_segment();
        full[i] = s.segments(a) - 1;
        number[i] = class_of(s.blocks(a));
        place[i] = count_in_class(counts, number[i], n < a.count);
        if (n < a.count && a.sums != 0)
            sum_of(a, n) = {};
    }
    __syncthreads();
    place_classes(counts, words);
    uint32_t *order = reinterpret_cast<uint32_t *>(a.order) + tile;
#pragma unroll
    for (uint32_t i = 0; i < MESSAGE_TILE; i++)
        if (first + i * blockDim.x < a.count)
            order[counts[number[i]] + place[i]] = first + i * blockDim.x;
    if (a.full != 0)
        list_full(a, first, full, words);
}
KERNEL(message_plan)

/* Keeps the block of ciphertext before each segment but the first ones, of CBC decryption. */
extern "C" __global__ void __launch_bounds__(256)
    message_chain(const __grid_constant__ message_arguments a)
{
    planned p = read_plan(a);
    uint32_t stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (uint32_t u = blockIdx.x * blockDim.x + threadIdx.x; u < p.whole; u += stride) {
        message_full entry = find_full(a, p.entries, u);
        uint64_t behind = (uint64_t{u} - entry.begin + 1) * a.segment * 16;
        reinterpret_cast<uint4 *>(a.chain)[u] =
            to_vector(load_some(array_element(a.in, entry.message) + behind - 16, 16));
    }
}
KERNEL(message_chain)
