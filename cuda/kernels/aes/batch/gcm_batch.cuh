/*
 * Messages of GCM in batches: their keys, and what comes before the text. See arguments.h.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, and products are the
 * same for all numbers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_GCM_BATCH_CUH
#define GPUAES_KERNELS_GCM_BATCH_CUH

#include "cuda/kernels/aes/batch/aes_batch_messages.cuh"
#include "cuda/kernels/aes/gcm/gcm_hash.cuh"

/* ---- Keys ------------------------------------------------------------------------- */

static __device__ __forceinline__ key_at schedule_of(const gcm_batch_arguments &a, uint32_t key)
{
    return {reinterpret_cast<const uint4 *>(a.schedules) +
            uint64_t{key} * (AES_BATCH_KEY_WORDS / 4)};
}

static __device__ __forceinline__ aes_state encrypt_by(uint32_t lane, uint32_t rounds,
                                                       const key_at &key, aes_state s)
{
    if (rounds == 10)
        return encrypt_block<1, 10>(lane, s, key);
    if (rounds == 12)
        return encrypt_block<1, 12>(lane, s, key);
    return encrypt_block<1, 14>(lane, s, key);
}

static __device__ __forceinline__ uint32_t rounds_of(const gcm_batch_arguments &a, uint32_t key)
{
    return a.rounds != 0 ? a.rounds : reinterpret_cast<const aes_batch_key *>(a.keys)[key].rounds;
}

static __device__ __forceinline__ uint4 *powers_of(const gcm_batch_arguments &a, uint32_t key)
{
    return reinterpret_cast<uint4 *>(a.powers) + uint64_t{key} * GCM_BATCH_POWERS;
}

static __device__ __forceinline__ void store_power(uint4 *to, ghash_element e)
{
    *to = make_uint4(static_cast<uint32_t>(e.low), static_cast<uint32_t>(e.low >> 32),
                     static_cast<uint32_t>(e.high), static_cast<uint32_t>(e.high >> 32));
}

static __device__ __forceinline__ ghash_element load_power(const uint4 *from)
{
    uint4 v = *from;
    return {static_cast<uint64_t>(v.y) << 32 | v.x, static_cast<uint64_t>(v.w) << 32 | v.z};
}

/* The factor of an element: it, times x. */
static __device__ __forceinline__ ghash_element factor_of(ghash_element e)
{
    uint64_t carry = e.high >> 63;
    return {e.low << 1 | carry, (e.high << 1 | e.low >> 63) ^ ((0 - carry) & 0xc200000000000000)};
}

static __device__ __forceinline__ ghash_element factor_of_one()
{
    return {1, 0xc200000000000000};
}

/* ---- The begin ---------------------------------------------------------------------- */

/* The counter block that is `blocks` on, SP 800-38D section 6.2. */
static __device__ __forceinline__ aes_state count_on(aes_state counter, uint32_t blocks)
{
    counter.c3 = swap_bytes(swap_bytes(counter.c3) + blocks);
    return counter;
}

/* Word `w` of a mask that has the first `bytes` of a block. */
static __device__ __forceinline__ uint32_t mask_of(uint32_t bytes, uint32_t w)
{
    uint32_t in_word = bytes <= 4 * w ? 0 : min(bytes - 4 * w, 4u);
    return in_word == 4 ? ~uint32_t{0} : (1u << 8 * in_word) - 1;
}

static __device__ __forceinline__ aes_state first_bytes(aes_state s, uint32_t bytes)
{
    return {s.c0 & mask_of(bytes, 0), s.c1 & mask_of(bytes, 1), s.c2 & mask_of(bytes, 2),
            s.c3 & mask_of(bytes, 3)};
}

static __device__ __forceinline__ aes_state load_part(uint64_t from, uint32_t bytes)
{
    const unsigned char *p = reinterpret_cast<const unsigned char *>(from);
    aes_state s = {};
#pragma unroll 1
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t byte = i < bytes ? p[i] : 0;
        s = {__funnelshift_r(s.c0, s.c1, 8), __funnelshift_r(s.c1, s.c2, 8),
             __funnelshift_r(s.c2, s.c3, 8), s.c3 >> 8 | byte << 24};
    }
    return s;
}

/* Block `i` of `bytes` bytes at any address, the last one with zeros behind it. */
static __device__ __forceinline__ aes_state load_padded(uint64_t from, uint32_t bytes, uint32_t i)
{
    uint32_t left = bytes - 16 * i;
    if (left < 16)
        return load_part(from + 16 * i, left);
    return load_block(from, bytes / 16, i);
}

static __device__ __forceinline__ void store_part(uint64_t to, uint32_t bytes, aes_state s)
{
    unsigned char *p = reinterpret_cast<unsigned char *>(to);
#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i++) {
        p[i] = static_cast<unsigned char>(s.c0);
        s = {__funnelshift_r(s.c0, s.c1, 8), __funnelshift_r(s.c1, s.c2, 8),
             __funnelshift_r(s.c2, s.c3, 8), s.c3 >> 8};
    }
}

static __device__ __forceinline__ aes_state load_words(const uint32_t word[4])
{
    return {word[0], word[1], word[2], word[3]};
}

static __device__ __forceinline__ void store_words(uint32_t word[4], aes_state s)
{
    word[0] = s.c0, word[1] = s.c1, word[2] = s.c2, word[3] = s.c3;
}

/* J0 of an IV that is hashed, SP 800-38D section 7.1, step 2. */
static __device__ __forceinline__ aes_state hash_iv(const gcm_batch_arguments &a,
                                                    const gcm_batch_message &m)
{
    ghash_element h = load_power(powers_of(a, m.key)), sum = {};
#pragma unroll 1
    for (uint32_t i = 0; i < (m.iv_bytes + 15) / 16; i++)
        sum = multiply(sum ^ to_element(load_padded(m.iv, m.iv_bytes, i)), h);
    return to_block(multiply(sum ^ ghash_element{uint64_t{m.iv_bytes} * 8, 0}, h));
}

/* The end of a text, which is no whole block: `rest` bytes, and what is behind them. */
struct text_end {
    aes_state in, out;
};

static __device__ __forceinline__ text_end run_end(const aes_batch_message &text, uint32_t rest,
                                                   aes_state keystream)
{
    uint64_t at = uint64_t{text.blocks} * 16;
    aes_state in = load_part(text.in + at, rest), out = in ^ keystream;
    store_part(text.out + at, rest, out);
    return {in, out};
}

static __device__ __forceinline__ aes_batch_message &text_of(const gcm_batch_arguments &a,
                                                             const gcm_batch_message &m)
{
    return *reinterpret_cast<aes_batch_message *>(a.plan + m.message);
}

static __device__ __forceinline__ void begin_message(uint32_t lane, const gcm_batch_arguments &a,
                                                     const gcm_batch_message &m,
                                                     gcm_batch_state &state)
{
    aes_batch_message &text = text_of(a, m);
    uint32_t rounds = rounds_of(a, m.key);
    key_at key = schedule_of(a, m.key);
    aes_state counter = load_words(text.iv); /* of the first block of text */
    if (m.iv_bytes != 0) {
        counter = count_on(hash_iv(a, m), 1);
        store_words(text.iv, counter);
    }
    store_words(state.mask, encrypt_by(lane, rounds, key, count_on(counter, ~uint32_t{0})));
    state.hash[0] = state.hash[1] = 0;
    state.hashed = state.wrong = 0;
    if (m.rest == 0)
        return;
    aes_state counter_of_end = count_on(counter, text.blocks);
    text_end end = run_end(text, m.rest, encrypt_by(lane, rounds, key, counter_of_end));
    store_words(state.end, a.decrypts != 0 ? end.in : first_bytes(end.out, m.rest));
}

/* ---- The end ------------------------------------------------------------------------ */

/* Whether device_batch_read has refused a message. */
static __device__ __forceinline__ bool is_refused(const gcm_batch_arguments &a, uint32_t status)
{
    return status != (a.decrypts != 0 ? a.bad_tag : 0);
}

/* Writes the tag of a message or compares it. */
static __device__ __forceinline__ void finish_message(const gcm_batch_arguments &a,
                                                      const gcm_batch_message &m,
                                                      gcm_batch_state &state, uint32_t number,
                                                      ghash_element hash)
{
    aes_state tag = to_block(hash) ^ load_words(state.mask);
    if (a.decrypts == 0) {
        store_part(m.tag_at, m.tag_bytes, tag);
        store_words(text_of(a, m).iv, {}); /* of a hashed IV, it tells the key of the hash */
    } else {
        aes_state differ = first_bytes(tag, m.tag_bytes) ^ load_words(m.tag);
        state.wrong = (differ.c0 | differ.c1 | differ.c2 | differ.c3) != 0 ? 1 : 0;
        reinterpret_cast<uint32_t *>(a.status)[number] = state.wrong != 0 ? a.bad_tag : 0;
    }
    /* Nobody else wipes it: with the tag it tells the key of the hash. */
    store_words(state.mask, {});
    state.hash[0] = state.hash[1] = 0;
}

#endif
