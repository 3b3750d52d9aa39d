/*
 * Expansion of keys on the device:
 * a thread a key, FIPS 197 section 5.2. A core of the host takes 3 us for each.
 *
 * Timing does not depend on keys: lookups are to the lane's own bank.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_rounds.cuh"

/* S(x) of each byte. */
static __device__ __forceinline__ uint32_t sub_word(uint32_t lane, uint32_t w)
{
    return aes_lookup<1>::last_column(lane, w, w, w, w, 0);
}

/* 02 times each byte. */
static __device__ __forceinline__ uint32_t double_bytes(uint32_t w)
{
    return ((w & 0x7f7f7f7f) << 1) ^ ((w >> 7 & 0x01010101) * 0x1b);
}

static __device__ __forceinline__ uint32_t inverse_mix_column(uint32_t w)
{
    uint32_t w2 = double_bytes(w), w4 = double_bytes(w2), w8 = double_bytes(w4);
    uint32_t by9 = w8 ^ w, by11 = by9 ^ w2, by13 = by9 ^ w4, by14 = w8 ^ w4 ^ w2;
    return by14 ^ __funnelshift_r(by11, by11, 8) ^ __funnelshift_r(by13, by13, 16) ^
           __funnelshift_r(by9, by9, 24);
}

/* Word `at` of the schedule, where the equivalent inverse cipher has it if need be. */
template <int ROUNDS>
static __device__ __forceinline__ void put_word(uint32_t *schedule, uint32_t at, uint32_t word,
                                                bool decrypts)
{
    uint32_t round = at / 4;
    if (round > ROUNDS)
        return;
    if (decrypts) {
        at = (ROUNDS - round) * 4 + at % 4;
        if (round != 0 && round != ROUNDS)
            word = inverse_mix_column(word);
    }
    schedule[at] = word;
}

template <int WORDS>
static __device__ __forceinline__ void expand(uint32_t lane, const aes_batch_key &key,
                                              uint32_t *schedule)
{
    constexpr int ROUNDS = WORDS + 6;
    bool decrypts = key.decrypts != 0;
    uint32_t w[WORDS], constant = 1;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        w[i] = key.words[i];
        put_word<ROUNDS>(schedule, i, w[i], decrypts);
    }
#pragma unroll 1
    for (uint32_t at = WORDS; at < 4 * (ROUNDS + 1); at += WORDS) {
        w[0] ^= sub_word(lane, __funnelshift_r(w[WORDS - 1], w[WORDS - 1], 8)) ^ constant;
        constant = double_bytes(constant);
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            w[i] ^= WORDS == 8 && i == 4 ? sub_word(lane, w[3]) : w[i - 1];
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            put_word<ROUNDS>(schedule, at + i, w[i], decrypts);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    aes_batch_expand(const __grid_constant__ aes_batch_expand_arguments a)
{
    fill_tables<1>(constant_tables.te);
    uint32_t lane = lane_address(), stride = gridDim.x * blockDim.x;
    const aes_batch_key *keys = reinterpret_cast<const aes_batch_key *>(a.keys);
    uint32_t *schedules = reinterpret_cast<uint32_t *>(a.schedules);
    for (uint32_t n = blockIdx.x * blockDim.x + threadIdx.x; n < a.count; n += stride) {
        uint32_t *schedule = schedules + uint64_t{n} * AES_BATCH_KEY_WORDS;
        if (keys[n].rounds == 10)
            expand<4>(lane, keys[n], schedule);
        else if (keys[n].rounds == 12)
            expand<6>(lane, keys[n], schedule);
        else
            expand<8>(lane, keys[n], schedule);
    }
}
KERNEL(aes_batch_expand)
