/*
 * What messages of GCM have in batches besides their text: the hash and the tag. See arguments.h.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, products are the
 * same for all numbers, and tags are compared as a whole.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/batch/gcm_batch.cuh"

/* ---- Keys ------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(256)
    gcm_batch_powers(const __grid_constant__ gcm_batch_arguments a)
{
    fill_tables<1>(constant_tables.te);
    const aes_batch_key *keys = reinterpret_cast<const aes_batch_key *>(a.keys);
    uint32_t lane = lane_address(), l = threadIdx.x % LANES;
#pragma unroll 1
    for (uint64_t n = warp_number(); n < a.key_count; n += warps()) {
        uint32_t key = static_cast<uint32_t>(n);
        if (keys[key].hashes == 0)
            continue;
        ghash_element h =
            factor_of(to_element(encrypt_by(lane, keys[key].rounds, schedule_of(a, key), {})));
        ghash_element power = factor_of_one(), square = h;
#pragma unroll 1
        for (uint32_t bit = LANES; bit != 0; bit /= 2) {
            power = multiply(power, power);
            ghash_element with = multiply(power, h);
            power = ((l + 1) & bit) != 0 ? with : power;
        }
        store_power(powers_of(a, key) + l, power);
#pragma unroll 1
        for (uint32_t level = 0; level < a.levels; level++) {
            if (l == level)
                store_power(powers_of(a, key) + GCM_BATCH_SQUARES + l, square);
            square = multiply(square, square);
        }
        __syncwarp();
        const uint4 *of_rows = powers_of(a, key) + GCM_BATCH_SQUARES + 5; /* H^32, H^64, H^128 */
        power = factor_of_one();
#pragma unroll 1
        for (uint32_t bit = 0; bit < 3; bit++) {
            ghash_element with = multiply(power, load_power(of_rows + bit));
            power = (l >> bit & 1) != 0 ? with : power;
        }
        if (l < GCM_BATCH_POWERS - GCM_BATCH_STEPS)
            store_power(powers_of(a, key) + GCM_BATCH_STEPS + l, power);
    }
}
KERNEL(gcm_batch_powers)

/* ---- The hash ----------------------------------------------------------------------- */

/* What a warp takes: blocks `from` to `to` - 1 of those of message `number` that are hashed. */
struct gcm_chunk {
    uint32_t number, index, count; /* of the message: the chunk, and how many there are */
};

static __device__ __forceinline__ gcm_chunk find_chunk(const gcm_batch_arguments &a, uint32_t chunk)
{
    const uint32_t *first = reinterpret_cast<const uint32_t *>(a.first);
    if (a.chunks == a.count) /* each has one */
        return {chunk, 0, 1};
    uint32_t number = find_last(first, a.count, chunk), begin = first[number];
    return {number, chunk - begin, first[number + 1] - begin};
}

/* The blocks of a message that are hashed: additional data, text, its last part, lengths. */
struct gcm_hashed {
    uint64_t text, aad;
    const uint32_t *end;
    uint32_t aad_blocks, blocks, total;
    uint32_t aad_bytes, rest;
};

static __device__ __forceinline__ gcm_hashed hashed_of(const gcm_batch_arguments &a,
                                                       const gcm_batch_message &m,
                                                       const gcm_batch_state &state)
{
    const aes_batch_message &text = text_of(a, m);
    uint32_t aad_blocks = (m.aad_bytes + 15) / 16;
    return {a.decrypts != 0 ? text.in : text.out,
            m.aad,
            state.end,
            aad_blocks,
            text.blocks,
            aad_blocks + text.blocks + (m.rest != 0 ? 1 : 0) + 1,
            m.aad_bytes,
            m.rest};
}

static __device__ __forceinline__ ghash_element load_hashed(const gcm_hashed &h, uint32_t i)
{
    uint32_t at = i - h.aad_blocks;
    if (i < h.aad_blocks)
        return to_element(load_padded(h.aad, h.aad_bytes, i));
    if (at < h.blocks)
        return to_element(load_block(h.text, h.blocks, at));
    if (i + 1 != h.total)
        return to_element(load_words(h.end));
    return {(uint64_t{h.blocks} * 16 + h.rest) * 8, uint64_t{h.aad_bytes} * 8};
}

/* The hash of blocks `from` to `to` - 1 by themselves, all of which the warp then has. */
static __device__ __forceinline__ ghash_element hash_blocks(const gcm_hashed &h,
                                                            const uint4 *powers, uint32_t from,
                                                            uint32_t to)
{
    enum { ROWS = 4 };
    uint32_t l = threadIdx.x % LANES, rows = (to - from + LANES - 1) / LANES;
    ghash_element p1 = load_power(powers + LANES - 1);
    ghash_element p2 = load_power(powers + GCM_BATCH_SQUARES + 6), p3 = multiply(p1, p2);
    ghash_element p4 = load_power(powers + GCM_BATCH_SQUARES + 7), sum = {};
    bool is_aligned = (h.text & 15) == 0;
    /* The last row ends at `to`; before `from` there are zeros. */
#pragma unroll 1
    while (rows != 0) {
        uint32_t row = to - rows * LANES, at = row - h.aad_blocks;
        if (is_aligned && rows >= ROWS && row - from < to - from && at < h.blocks &&
            h.blocks - at >= ROWS * LANES) {
            const uint4 *text = reinterpret_cast<const uint4 *>(h.text) + at + l;
            uint4 v0 = __ldcs(text), v1 = __ldcs(text + LANES), v2 = __ldcs(text + 2 * LANES),
                  v3 = __ldcs(text + 3 * LANES);
            ghash_sum s = {};
            add_product(s, sum, p4);
            add_product(s, to_element(to_state(v0)), p3);
            add_product(s, to_element(to_state(v1)), p2);
            add_product(s, to_element(to_state(v2)), p1);
            sum = reduce(s) ^ to_element(to_state(v3));
            rows -= ROWS;
        } else {
            sum = multiply(sum, p1);
            if (row + l - from < to - from)
                sum = sum ^ load_hashed(h, row + l);
            rows--;
        }
    }
    return add_lanes(multiply(sum, load_power(powers + LANES - 1 - l)));
}

/* H to the power of `exponent`, by a converged warp. */
static __device__ __forceinline__ ghash_element power_of(const uint4 *powers, uint32_t exponent)
{
    uint32_t l = threadIdx.x % LANES;
    ghash_element e = factor_of_one();
    if ((exponent >> l & 1) != 0)
        e = load_power(powers + GCM_BATCH_SQUARES + l);
#pragma unroll 1
    for (int lanes = LANES / 2; lanes != 0; lanes /= 2)
        e = multiply(e, {__shfl_xor_sync(ALL_LANES, e.low, lanes),
                         __shfl_xor_sync(ALL_LANES, e.high, lanes)});
    return e;
}

/* Adds the part of a chunk to the message's hash. Returns 1 if that is all of it. */
static __device__ __forceinline__ bool add_to_hash(gcm_batch_state &state, uint32_t chunks,
                                                   ghash_element &hash)
{
    if (chunks == 1)
        return true;
    atomicXor(&state.hash[0], static_cast<unsigned long long>(hash.low));
    atomicXor(&state.hash[1], static_cast<unsigned long long>(hash.high));
    __threadfence();
    if (atomicAdd(&state.hashed, 1u) + 1 != chunks)
        return false;
    hash = {atomicXor(&state.hash[0], 0ull), atomicXor(&state.hash[1], 0ull)};
    return true;
}

/* The hash of blocks `from` to `to` - 1, with what comes after them. */
static __device__ __forceinline__ ghash_element hash_part(const gcm_hashed &h, const uint4 *powers,
                                                          uint32_t from, uint32_t to)
{
    ghash_element hash = hash_blocks(h, powers, from, to);
    return to != h.total ? multiply(hash, power_of(powers, h.total - to)) : hash;
}

/* The hash of message `number` but for whole spans of its text. */
static __device__ __forceinline__ ghash_element hash_edges(const gcm_batch_arguments &a,
                                                           const gcm_hashed &h, const uint4 *powers,
                                                           uint32_t number)
{
    enum : uint32_t { SPAN = AES_BATCH_ROWS_MOST * LANES };
    uint32_t first = reinterpret_cast<const uint32_t *>(a.text_first)[number];
    uint32_t head = (0 - first) % SPAN, at = h.aad_blocks + head;
    if (h.blocks < head + SPAN)
        return hash_part(h, powers, 0, h.total);
    uint32_t next = at + (h.blocks - head) / SPAN * SPAN;
    ghash_element hash = hash_part(h, powers, next, h.total);
    return at != 0 ? hash ^ hash_part(h, powers, 0, at) : hash;
}

/*
 * A warp a message: what the batch kernels do not hash. In encryption they have done so before, and
 * the tag is made here; in decryption, device_batch_clear makes it.
 */
static __device__ __forceinline__ void hash_edges_of_all(const gcm_batch_arguments &a)
{
    const uint32_t *status = reinterpret_cast<const uint32_t *>(a.status);
#pragma unroll 1
    for (uint64_t n = warp_number(); n < a.count; n += warps()) {
        uint32_t number = static_cast<uint32_t>(n);
        if (is_refused(a, status[number]))
            continue;
        const gcm_batch_message &m =
            reinterpret_cast<const gcm_batch_message *>(a.messages)[number];
        gcm_batch_state &state = reinterpret_cast<gcm_batch_state *>(a.states)[number];
        ghash_element hash = hash_edges(a, hashed_of(a, m, state), powers_of(a, m.key), number);
        if (threadIdx.x % LANES != 0)
            continue;
        hash = hash ^ ghash_element { state.hash[0], state.hash[1] };
        if (a.decrypts == 0) {
            finish_message(a, m, state, number, hash);
            continue;
        }
        state.hash[0] = hash.low;
        state.hash[1] = hash.high;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gcm_batch_hash(const __grid_constant__ gcm_batch_arguments a)
{
    if (a.text_first != 0) {
        hash_edges_of_all(a);
        return;
    }
    uint32_t chunks =
        a.chunks != 0 ? a.chunks : reinterpret_cast<const uint32_t *>(a.first)[a.count];
#pragma unroll 1
    for (uint64_t n = warp_number(); n < chunks; n += warps()) {
        gcm_chunk chunk = find_chunk(a, static_cast<uint32_t>(n));
        const gcm_batch_message &m =
            reinterpret_cast<const gcm_batch_message *>(a.messages)[chunk.number];
        gcm_batch_state &state = reinterpret_cast<gcm_batch_state *>(a.states)[chunk.number];
        gcm_hashed h = hashed_of(a, m, state);
        uint32_t each = (h.total - 1) / chunk.count + 1;
        uint32_t from = min(h.total, chunk.index * each), to = min(h.total, from + each);
        ghash_element hash = hash_part(h, powers_of(a, m.key), from, to);
        if (threadIdx.x % LANES == 0 && add_to_hash(state, chunk.count, hash))
            finish_message(a, m, state, chunk.number, hash);
        __syncwarp();
    }
}
KERNEL(gcm_batch_hash)
