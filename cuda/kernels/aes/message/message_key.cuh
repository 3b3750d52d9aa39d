/*
 * Keys of messages: one schedule for all, which is a parameter, or a raw key for each, whose
 * schedule a lane makes again for each block, in registers (FIPS 197 section 5.2). So there are no
 * expanded keys in memory, and nothing to cleanse.
 *
 * Timing does not depend on keys: lookups are to the lane's own bank.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_MESSAGE_KEY_CUH
#define GPUAES_KERNELS_MESSAGE_KEY_CUH

#include "cuda/kernels/aes/aes_rounds.cuh"
#include "cuda/kernels/aes/message/message.cuh"

/* ---- Words of a schedule ------------------------------------------------------ */

/* 02 times each byte. */
static __device__ __forceinline__ uint32_t times_2(uint32_t w)
{
    return ((w & 0x7f7f7f7f) << 1) ^ ((w >> 7 & 0x01010101) * 0x1b);
}

/* InvMixColumns of a column. */
static __device__ __forceinline__ uint32_t unmix_column(uint32_t w)
{
    uint32_t w2 = times_2(w), w4 = times_2(w2), w8 = times_2(w4);
    uint32_t by9 = w8 ^ w, by11 = by9 ^ w2, by13 = by9 ^ w4, by14 = w8 ^ w4 ^ w2;
    return by14 ^ __funnelshift_r(by11, by11, 8) ^ __funnelshift_r(by13, by13, 16) ^
           __funnelshift_r(by9, by9, 24);
}

static __device__ __forceinline__ aes_state unmix(aes_state s)
{
    return {unmix_column(s.c0), unmix_column(s.c1), unmix_column(s.c2), unmix_column(s.c3)};
}

/* The words of a schedule, NK at a time: w[i % NK] is the last one made with that remainder. */
template <int NK> struct key_words {
    uint32_t w[NK];

    __device__ __forceinline__ void load(uint64_t raw)
    {
        aes_state low = load_some(raw, 16);
        w[0] = low.c0, w[1] = low.c1, w[2] = low.c2, w[3] = low.c3;
        if (NK > 4) {
            aes_state high = load_some(raw + 16, 4 * (NK - 4));
            w[4 % NK] = high.c0, w[5 % NK] = high.c1;
            if (NK > 6)
                w[6 % NK] = high.c2, w[7 % NK] = high.c3;
        }
    }

    /* What word `i` is, exclusive or word i - NK; SBOX substitutes the bytes of a word. */
    template <class SBOX>
    __device__ __forceinline__ uint32_t difference(const SBOX &sbox, int i) const
    {
        const uint32_t constant[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};
        uint32_t before = w[(i - 1) % NK];
        if (i % NK == 0)
            return sbox(__funnelshift_r(before, before, 8)) ^ constant[i / NK - 1];
        return NK == 8 && i % NK == 4 ? sbox(before) : before;
    }

    /* Makes words `from` to `to` - 1, in which there are no raw ones; or takes them back. */
    template <class SBOX> __device__ __forceinline__ void make(const SBOX &sbox, int from, int to)
    {
#pragma unroll
        for (int i = from; i < to; i++)
            if (i >= NK)
                w[i % NK] ^= difference(sbox, i);
    }
    template <class SBOX>
    __device__ __forceinline__ void take_back(const SBOX &sbox, int from, int to)
    {
#pragma unroll
        for (int i = to - 1; i >= from; i--)
            w[i % NK] ^= difference(sbox, i);
    }

    __device__ __forceinline__ aes_state round_key(int round) const
    {
        return {w[4 * round % NK], w[(4 * round + 1) % NK], w[(4 * round + 2) % NK],
                w[(4 * round + 3) % NK]};
    }
};

/* ---- S(x), where the tables are those of encryption ---------------------------- */

template <int TABLES> struct table_sbox {
    uint32_t lane;

    __device__ __forceinline__ uint32_t operator()(uint32_t w) const
    {
        return aes_lookup<TABLES>::last_column(lane, w, w, w, w, 0);
    }
};

/* ---- S(x), where they are those of decryption ---------------------------------- */

/*
 * A table of bytes, four of them a word: 8 KiB behind the T-tables, each lane's copy in its own
 * bank.
 */
template <int TABLES> struct byte_sbox {
    uint32_t lane;

    static __device__ __forceinline__ void fill(const uint32_t *constant)
    {
        const uint32_t *te = read_by_lanes(constant);
        uint32_t *to = shared_words + TABLES * AES_TABLE_SHARED / 4;
        for (uint32_t i = threadIdx.x; i < MESSAGE_SBOX_SHARED / 4; i += blockDim.x) {
            const uint32_t *four = te + i / LANES * 4; /* byte 1 of each is S(x) */
            to[i] = (four[0] >> 8 & 0xff) | (four[1] & 0xff00) | (four[2] & 0xff00) << 8 |
                    (four[3] & 0xff00) << 16;
        }
    }

    template <int BYTE> __device__ __forceinline__ uint32_t of_byte(uint32_t w) const
    {
        uint32_t x = w >> (8 * BYTE) & 0xff;
        uint32_t four = shared_word<TABLES * AES_TABLE_SHARED>(lane + (x & ~3u) * LANES);
        return (four >> (x & 3) * 8 & 0xff) << (8 * BYTE);
    }

    __device__ __forceinline__ uint32_t operator()(uint32_t w) const
    {
        return of_byte<0>(w) | of_byte<1>(w) | of_byte<2>(w) | of_byte<3>(w);
    }

    /* SubBytes and ShiftRows of one column. */
    __device__ __forceinline__ uint32_t column(uint32_t row0, uint32_t row1, uint32_t row2,
                                               uint32_t row3) const
    {
        return of_byte<0>(row0) | of_byte<1>(row1) | of_byte<2>(row2) | of_byte<3>(row3);
    }
};

/* ---- Encryption and decryption by either ----------------------------------------- */

/* A schedule in a parameter, in the order of use. */
struct parameter_key {
    const uint32_t *words;
};
static __device__ __forceinline__ aes_state round_key(const parameter_key &key, int round)
{
    const uint32_t *w = key.words + 4 * round;
    return {w[0], w[1], w[2], w[3]};
}

/* Rounds FIRST to the last, by words of which those of the rounds before have been made. */
template <int TABLES, int ROUNDS, int FIRST>
static __device__ __forceinline__ aes_state encrypt_by_words(uint32_t lane, aes_state s,
                                                             key_words<ROUNDS - 6> key)
{
    const table_sbox<TABLES> sbox = {lane};
#pragma unroll
    for (int round = FIRST; round <= ROUNDS; round++) {
        key.make(sbox, 4 * round, 4 * round + 4);
        s = round == 0        ? s ^ key.round_key(0)
            : round == ROUNDS ? encrypt_last<TABLES>(lane, s, key.round_key(round))
                              : encrypt_round<TABLES>(lane, s, key.round_key(round));
    }
    return s;
}

/* The equivalent inverse cipher, FIPS 197 section 5.3.5, by the last words of the schedule. */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ aes_state decrypt_by_words(uint32_t lane, aes_state s,
                                                             key_words<ROUNDS - 6> key)
{
    constexpr int NK = ROUNDS - 6;
    using T = aes_lookup<TABLES>;
    const byte_sbox<TABLES> sbox = {lane};
    s = s ^ key.round_key(ROUNDS);
#pragma unroll
    for (int round = ROUNDS - 1; round >= 0; round--) {
        constexpr int all = 4 * ROUNDS + 4;
        int made = 4 * round + 4 + NK;
        key.take_back(sbox, 4 * round + NK, made < all ? made : all);
        aes_state k = key.round_key(round);
        if (round == 0)
            return {T::last_inverse_column(lane, s.c0, s.c3, s.c2, s.c1, k.c0),
                    T::last_inverse_column(lane, s.c1, s.c0, s.c3, s.c2, k.c1),
                    T::last_inverse_column(lane, s.c2, s.c1, s.c0, s.c3, k.c2),
                    T::last_inverse_column(lane, s.c3, s.c2, s.c1, s.c0, k.c3)};
        s = decrypt_round<TABLES>(lane, s, unmix(k));
    }
    return s;
}

/* MixColumns of a column. */
static __device__ __forceinline__ uint32_t mix_column(uint32_t w)
{
    uint32_t w2 = times_2(w), w3 = w2 ^ w;
    return w2 ^ __funnelshift_r(w3, w3, 8) ^ __funnelshift_r(w, w, 16) ^ __funnelshift_r(w, w, 24);
}

/* A round of encryption, where the tables are those of decryption. */
template <int TABLES>
static __device__ __forceinline__ aes_state encrypt_round_by_bytes(uint32_t lane, aes_state s,
                                                                   aes_state key, bool is_last)
{
    const byte_sbox<TABLES> sbox = {lane};
    s = {sbox.column(s.c0, s.c1, s.c2, s.c3), sbox.column(s.c1, s.c2, s.c3, s.c0),
         sbox.column(s.c2, s.c3, s.c0, s.c1), sbox.column(s.c3, s.c0, s.c1, s.c2)};
    if (!is_last)
        s = {mix_column(s.c0), mix_column(s.c1), mix_column(s.c2), mix_column(s.c3)};
    return s ^ key;
}

/* Encrypts one block in a kernel that decrypts: by a schedule, or by a raw key. */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ aes_state encrypt_by_bytes(uint32_t lane, aes_state s,
                                                             const parameter_key &key)
{
    s = s ^ round_key(key, 0);
#pragma unroll 1
    for (int round = 1; round <= ROUNDS; round++)
        s = encrypt_round_by_bytes<TABLES>(lane, s, round_key(key, round), round == ROUNDS);
    return s;
}
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ aes_state encrypt_by_bytes(uint32_t lane, aes_state s,
                                                             key_words<ROUNDS - 6> key)
{
    const byte_sbox<TABLES> sbox = {lane};
    s = s ^ key.round_key(0);
#pragma unroll
    for (int round = 1; round <= ROUNDS; round++) {
        key.make(sbox, 4 * round, 4 * round + 4);
        s = encrypt_round_by_bytes<TABLES>(lane, s, key.round_key(round), round == ROUNDS);
    }
    return s;
}

#endif
