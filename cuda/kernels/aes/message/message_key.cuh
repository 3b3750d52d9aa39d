/*
 * Keys of messages: one schedule for all, which is a parameter, or a raw key for each, whose
 * schedule a lane makes again for each turn of up to four blocks, in registers (FIPS 197 section
 * 5.2). So the kernels keep no expanded keys in memory that other kernels could read.
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

/* MixColumns of a column. */
static __device__ __forceinline__ uint32_t mix_column(uint32_t w)
{
    uint32_t w2 = times_2(w), w3 = w2 ^ w;
    return w2 ^ __funnelshift_r(w3, w3, 8) ^ __funnelshift_r(w, w, 16) ^ __funnelshift_r(w, w, 24);
}

static __device__ __forceinline__ aes_state unmix(aes_state s)
{
    return {unmix_column(s.c0), unmix_column(s.c1), unmix_column(s.c2), unmix_column(s.c3)};
}

/* A byte divided by 02 in the field of AES. */
static __device__ __forceinline__ uint32_t divided_by_2(uint32_t byte)
{
    return byte >> 1 ^ (byte & 1) * 0x8d;
}

/*
 * The words of a schedule, NK at a time: w[i % NK] is the last one made with that remainder. Every
 * PERIOD rounds its steps repeat, so that a loop has them: the rounds of all blocks in straight
 * code would not stay in the instruction cache.
 */
template <int NK> struct key_words {
    static constexpr int PERIOD = NK == 6 ? 3 : NK / 4, ROUNDS = NK + 6, WORDS = 4 * ROUNDS + 4;
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

    /* Round constants (Rcon): of the first word from `word` on that has one, and of the last. */
    static __device__ __forceinline__ uint32_t constant_from(int word)
    {
        return word <= NK ? 1 : 1u << ((word - 1) / NK);
    }
    static __device__ __forceinline__ uint32_t last_constant()
    {
        return NK == 4 ? 0x36 : 1u << ((WORDS - 1) / NK - 1);
    }

    /* What word `i` is, exclusive or word i - NK; SBOX substitutes the bytes of a word. */
    template <class SBOX>
    __device__ __forceinline__ uint32_t difference(const SBOX &sbox, int i, uint32_t constant) const
    {
        uint32_t before = w[(i - 1) % NK];
        if (i % NK == 0)
            return sbox(__funnelshift_r(before, before, 8)) ^ constant;
        return NK == 8 && i % NK == 4 ? sbox(before) : before;
    }

    /* Makes a round's words but those of the raw key; `constant` is the next round constant. */
    template <class SBOX>
    __device__ __forceinline__ void make(const SBOX &sbox, int round, uint32_t &constant)
    {
#pragma unroll
        for (int i = 4 * round; i < 4 * round + 4; i++)
            if (i >= NK) {
                w[i % NK] ^= difference(sbox, i, constant);
                if (i % NK == 0)
                    constant = times_2(constant);
            }
    }

    /* Takes words back, so that those of a round are there; the inverse. */
    template <class SBOX>
    __device__ __forceinline__ void take_back(const SBOX &sbox, int round, uint32_t &constant)
    {
#pragma unroll
        for (int i = 4 * round + NK + 3; i >= 4 * round + NK; i--)
            if (i < WORDS) {
                w[i % NK] ^= difference(sbox, i, constant);
                if (i % NK == 0)
                    constant = divided_by_2(constant);
            }
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
    __device__ __forceinline__ aes_state round(aes_state s, aes_state key) const
    {
        return encrypt_round<TABLES>(lane, s, key);
    }
    __device__ __forceinline__ aes_state last(aes_state s, aes_state key) const
    {
        return encrypt_last<TABLES>(lane, s, key);
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

    /* Rounds of encryption, where the tables are those of decryption. */
    __device__ __forceinline__ aes_state last(aes_state s, aes_state key) const
    {
        return aes_state{column(s.c0, s.c1, s.c2, s.c3), column(s.c1, s.c2, s.c3, s.c0),
                         column(s.c2, s.c3, s.c0, s.c1), column(s.c3, s.c0, s.c1, s.c2)} ^
               key;
    }
    __device__ __forceinline__ aes_state round(aes_state s, aes_state key) const
    {
        s = last(s, {});
        return aes_state{mix_column(s.c0), mix_column(s.c1), mix_column(s.c2), mix_column(s.c3)} ^
               key;
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

/* Runs a round of N blocks, not the last; `round` is known modulo PERIOD, and is 0 for the first.
 */
template <class SBOX, int NK, uint32_t N>
static __device__ __forceinline__ void
encrypt_next(const SBOX &sbox, aes_state (&s)[N], key_words<NK> &key, int round, uint32_t &constant)
{
    key.make(sbox, round, constant);
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
        s[i] = round == 0 ? s[i] ^ key.round_key(0) : sbox.round(s[i], key.round_key(round));
}

/*
 * Rounds FIRST to the last of N blocks, by words of which those of the rounds before have been
 * made.
 */
template <int FIRST, class SBOX, int NK, uint32_t N>
static __device__ __forceinline__ void encrypt_by_words(const SBOX &sbox, aes_state (&s)[N],
                                                        key_words<NK> key)
{
    using K = key_words<NK>;
    /* From here on no word is one of the raw key. */
    constexpr int begin = FIRST == 0 ? K::PERIOD : (FIRST + K::PERIOD - 1) / K::PERIOD * K::PERIOD;
    uint32_t constant = K::constant_from(4 * FIRST);
#pragma unroll
    for (int round = FIRST; round < begin; round++)
        encrypt_next(sbox, s, key, round, constant);
#pragma unroll 1
    for (int turn = begin; turn < K::ROUNDS; turn += K::PERIOD)
#pragma unroll
        for (int round = begin; round < begin + K::PERIOD; round++)
            encrypt_next(sbox, s, key, round, constant);
    key.make(sbox, K::ROUNDS, constant);
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
        s[i] = sbox.last(s[i], key.round_key(K::ROUNDS));
}

/* Encrypts a block. */
template <class SBOX, int NK>
static __device__ __forceinline__ aes_state encrypt_by_words(const SBOX &sbox, aes_state s,
                                                             const key_words<NK> &key)
{
    aes_state one[1] = {s};
    encrypt_by_words<0>(sbox, one, key);
    return one[0];
}

template <int TABLES, int NK, uint32_t N>
static __device__ __forceinline__ void decrypt_next(const byte_sbox<TABLES> &sbox,
                                                    aes_state (&s)[N], key_words<NK> &key,
                                                    int round, uint32_t &constant)
{
    key.take_back(sbox, round, constant);
    aes_state k = unmix(key.round_key(round));
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
        s[i] = decrypt_round<TABLES>(sbox.lane, s[i], k);
}

/*
 * N blocks by the equivalent inverse cipher, FIPS 197 section 5.3.5, and by the last words of the
 * schedule.
 */
template <int TABLES, int NK, uint32_t N>
static __device__ __forceinline__ void decrypt_by_words(const byte_sbox<TABLES> &sbox,
                                                        aes_state (&s)[N], key_words<NK> key)
{
    using K = key_words<NK>;
    /* Where the loop begins and ends: all words of its rounds are taken back. */
    constexpr int begin = NK == 4 ? K::ROUNDS - 1 : K::ROUNDS - 2, end = begin % K::PERIOD;
    uint32_t constant = K::last_constant();
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
        s[i] = s[i] ^ key.round_key(K::ROUNDS);
#pragma unroll
    for (int round = K::ROUNDS - 1; round > begin; round--)
        decrypt_next(sbox, s, key, round, constant);
#pragma unroll 1
    for (int turn = begin; turn > end; turn -= K::PERIOD)
#pragma unroll
        for (int round = begin; round > begin - K::PERIOD; round--)
            decrypt_next(sbox, s, key, round, constant);
#pragma unroll
    for (int round = end; round > 0; round--)
        decrypt_next(sbox, s, key, round, constant);
    key.take_back(sbox, 0, constant);
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
        s[i] = decrypt_last<TABLES>(sbox.lane, s[i], key.round_key(0));
}

/* Encrypts one block by a schedule in a kernel that decrypts. */
template <int TABLES, int ROUNDS>
static __device__ __forceinline__ aes_state encrypt_by_bytes(uint32_t lane, aes_state s,
                                                             const parameter_key &key)
{
    const byte_sbox<TABLES> sbox = {lane};
    s = s ^ round_key(key, 0);
#pragma unroll 1
    for (int round = 1; round < ROUNDS; round++)
        s = sbox.round(s, round_key(key, round));
    return sbox.last(s, round_key(key, ROUNDS));
}

#endif
