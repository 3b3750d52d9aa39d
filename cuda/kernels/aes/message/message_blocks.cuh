/*
 * ECB, CBC and XTS of messages, NIST SP 800-38A sections 6.1 and 6.2, IEEE Std 1619: a lane runs a
 * segment. CBC encryption has one segment a message, as each block needs the one before.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_MESSAGE_BLOCKS_CUH
#define GPUAES_KERNELS_MESSAGE_BLOCKS_CUH

#include "cuda/kernels/aes/gcm/ghash.cuh"
#include "cuda/kernels/aes/message/message_key.cuh"
#include "cuda/kernels/aes/message/message_stage.cuh"
#include "cuda/kernels/aes/xts/xts_tweak.cuh"

/* ---- Keys -------------------------------------------------------------------------- */

/* One key for all messages, and one for their tweaks. */
template <int TABLES, int ROUNDS, bool DECRYPTS> struct one_block_key {
    static constexpr uint32_t WIDTH = 1;
    parameter_key key, tweak_key;

    __device__ __forceinline__ explicit one_block_key(const message_arguments &a)
        : key{a.round_key}, tweak_key{a.tweak_key}
    {
    }
    __device__ __forceinline__ void begin(const message_arguments &, const segment &, uint32_t)
    {
    }
    __device__ __forceinline__ void run(uint32_t lane, aes_state (&s)[WIDTH]) const
    {
        s[0] = DECRYPTS ? decrypt_block<TABLES, ROUNDS>(lane, s[0], key)
                        : encrypt_block<TABLES, ROUNDS>(lane, s[0], key);
    }
    __device__ __forceinline__ aes_state tweak(uint32_t lane, aes_state s) const
    {
        return DECRYPTS ? encrypt_by_bytes<TABLES, ROUNDS>(lane, s, tweak_key)
                        : encrypt_block<TABLES, ROUNDS>(lane, s, tweak_key);
    }
};

/* A raw key for each message; of XTS, that of tweaks behind it. */
template <int TABLES, int ROUNDS, bool DECRYPTS> struct raw_block_key {
    static constexpr uint32_t WIDTH = 4; /* blocks for which the schedule is made once */
    using words = key_words<ROUNDS - 6>;
    uint64_t raw; /* its address, or 0 */
    words key;    /* the raw key, or the last words of the schedule */

    __device__ __forceinline__ explicit raw_block_key(const message_arguments &) : raw(0), key{}
    {
    }
    __device__ __forceinline__ void begin(const message_arguments &a, const segment &s,
                                          uint32_t lane)
    {
        const byte_sbox<TABLES> sbox = {lane};
        raw = s.is_good ? raw_key_at(a, s.message) : 0;
        key = {};
        if (raw != 0)
            key.load(raw);
        uint32_t constant = 1;
        if (DECRYPTS)
#pragma unroll
            for (int round = 1; round <= ROUNDS; round++)
                key.make(sbox, round, constant);
    }
    template <uint32_t N>
    __device__ __forceinline__ void run(uint32_t lane, aes_state (&s)[N]) const
    {
        if constexpr (DECRYPTS)
            decrypt_by_words(byte_sbox<TABLES>{lane}, s, key);
        else
            encrypt_by_words<0>(table_sbox<TABLES>{lane}, s, key);
    }
    __device__ __forceinline__ aes_state tweak(uint32_t lane, aes_state s) const
    {
        words second = {};
        if (raw != 0)
            second.load(raw + 4 * (ROUNDS - 6));
        if constexpr (DECRYPTS)
            return encrypt_by_words(byte_sbox<TABLES>{lane}, s, second);
        else
            return encrypt_by_words(table_sbox<TABLES>{lane}, s, second);
    }
};

/* ---- Tweaks, IEEE Std 1619 section 5.2 ------------------------------------------------ */

/* Products modulo x^128 + x^7 + x^2 + x + 1, the lowest coefficient in the lowest bit. */
static __device__ __forceinline__ ghash_element reduce_tweak(ghash_sum s)
{
    s.word[1] = clmad_low(s.word[3], 0x87, s.word[1]);
    s.word[2] = clmad_high(s.word[3], 0x87, s.word[2]);
    s.word[0] = clmad_low(s.word[2], 0x87, s.word[0]);
    s.word[1] = clmad_high(s.word[2], 0x87, s.word[1]);
    return {s.word[0], s.word[1]};
}

/* Times x^exponent; time depends on the exponent alone, which is public. */
static __device__ __forceinline__ aes_state move_tweak(aes_state tweak, uint32_t exponent)
{
    if (exponent == 0)
        return tweak;
    ghash_element p = {1, 0};
#pragma unroll 1
    for (int bit = 31 - __clz(static_cast<int>(exponent)); bit >= 0; bit--) {
        ghash_sum square = {};
        add_product(square, p, p);
        p = reduce_tweak(square);
        if ((exponent >> bit & 1) != 0)
            p = {p.low << 1 ^ (p.high >> 63) * 0x87, p.high << 1 | p.low >> 63};
    }
    ghash_sum product = {};
    add_product(product, p,
                {static_cast<uint64_t>(tweak.c1) << 32 | tweak.c0,
                 static_cast<uint64_t>(tweak.c3) << 32 | tweak.c2});
    p = reduce_tweak(product);
    return {static_cast<uint32_t>(p.low), static_cast<uint32_t>(p.low >> 32),
            static_cast<uint32_t>(p.high), static_cast<uint32_t>(p.high >> 32)};
}

/* ---- A segment -------------------------------------------------------------------------- */

/* The ciphertext before a segment of CBC. */
static __device__ __forceinline__ aes_state block_before(const message_arguments &a,
                                                         const segment &s)
{
    if (s.from != 0 && a.chain != 0)
        return to_state(reinterpret_cast<const uint4 *>(
            a.chain)[sum_of(a, s.message).begin + s.from / a.segment - 1]);
    if (s.from == 0)
        return load_some(array_element(a.iv, s.message), 16);
    return load_some(array_element(a.in, s.message) + (uint64_t{s.from} - 1) * 16, 16);
}

/*
 * Ciphertext stealing, section 5.3.2: the last whole block, at byte `at` of the text, and the
 * `rest` bytes behind it. Decryption takes their two tweaks in the opposite order.
 */
template <class KEY, bool DECRYPTS>
static __device__ __forceinline__ void steal(const message_arguments &a, const segment &s,
                                             const KEY &key, uint32_t lane, aes_state tweak,
                                             bool takes_part)
{
    uint32_t rest = static_cast<uint32_t>(s.bytes % 16);
    uint64_t at = uint64_t{s.bytes} - rest - 16;
    aes_state whole = {}, end = {}, next = times_x(tweak, 1);
    if (takes_part) {
        whole = load_some(array_element(a.in, s.message) + at, 16);
        end = load_some(array_element(a.in, s.message) + at + 16, rest);
    }
    aes_state first = DECRYPTS ? next : tweak, second = DECRYPTS ? tweak : next;
    aes_state inner[1] = {whole ^ first};
    key.run(lane, inner);
    inner[0] = inner[0] ^ first;
    aes_state outer[1] = {(end ^ inner[0] ^ keep_bytes(inner[0], rest)) ^ second};
    key.run(lane, outer);
    if (takes_part) {
        store_some(array_element(a.out, s.message) + at, 16, outer[0] ^ second);
        store_some(array_element(a.out, s.message) + at + 16, rest, keep_bytes(inner[0], rest));
    }
}

/*
 * Runs the blocks of the lane's text, WIDTH at a time. `mask` is the previous ciphertext block in
 * CBC, and the tweak in XTS. In CBC encryption each block needs the one before: WIDTH is 1.
 */
template <uint32_t WIDTH, bool DECRYPTS, class KEY, uint32_t PIECE>
static __device__ __forceinline__ void run_text(const message_arguments &a, const KEY &key,
                                                uint32_t lane, stage<PIECE> &text, aes_state &mask)
{
#pragma unroll 1
    while (const uint32_t blocks = text.blocks()) {
        text.load();
#pragma unroll 1
        for (uint32_t k = 0; k < blocks; k += WIDTH) {
            aes_state block[WIDTH], behind[WIDTH];
#pragma unroll
            for (uint32_t i = 0; i < WIDTH; i++) {
                aes_state in = text.read(k + i), before = {};
                behind[i] = {};
                if (a.mode == MESSAGE_XTS || (a.mode == MESSAGE_CBC && !DECRYPTS))
                    before = mask;
                if (a.mode == MESSAGE_XTS || (a.mode == MESSAGE_CBC && DECRYPTS))
                    behind[i] = mask;
                block[i] = in ^ before;
                if (text.has(k + i))
                    mask = a.mode == MESSAGE_XTS ? times_x(mask, 1) : in;
            }
            key.run(lane, block);
#pragma unroll
            for (uint32_t i = 0; i < WIDTH; i++) {
                block[i] = block[i] ^ behind[i];
                text.write(k + i, block[i]);
                if (a.mode == MESSAGE_CBC && !DECRYPTS && text.has(k + i))
                    mask = block[i];
            }
        }
        text.store();
    }
}

template <class KEY, uint32_t PIECE, bool DECRYPTS>
static __device__ __forceinline__ void run_blocks(const message_arguments &a, const segment &s,
                                                  KEY &key, uint32_t lane, uint32_t tables)
{
    stage<PIECE> text;
    bool steals = s.is_good && s.bytes % 16 != 0 && s.is_last(a);
    uint32_t whole = s.is_good ? s.blocks(a) - (steals ? 2 : 0) : 0;
    text.begin(a, s, tables, whole * 16);
    key.begin(a, s, lane);

    aes_state mask = {};
    if (a.mode == MESSAGE_CBC && s.is_good)
        mask = block_before(a, s);
    if (a.mode == MESSAGE_XTS) {
        if (s.is_good)
            mask = load_some(array_element(a.iv, s.message), 16);
        mask = move_tweak(key.tweak(lane, mask), s.from);
    }
    /* In place, another lane may overwrite that block; where there is a plan, the chain has it. */
    if (DECRYPTS && a.mode == MESSAGE_CBC && a.plan == 0)
        __syncthreads();

    if (KEY::WIDTH > 1 && a.mode == MESSAGE_CBC && !DECRYPTS)
        run_text<1, DECRYPTS>(a, key, lane, text, mask);
    else
        run_text<KEY::WIDTH, DECRYPTS>(a, key, lane, text, mask);
    if (__any_sync(ALL_LANES, steals) != 0)
        steal<KEY, DECRYPTS>(a, s, key, lane, mask, steals);
    finish(a, s, s.is_on && s.from == 0, false);
}

/* ---- Kernels ------------------------------------------------------------------------------ */

template <int TABLES, uint32_t PIECE, int ROUNDS, template <int, int, bool> class KEY,
          bool DECRYPTS>
static __device__ __forceinline__ void message_blocks(const message_arguments &a)
{
    using key_type = KEY<TABLES, ROUNDS, DECRYPTS>;
    if (DECRYPTS)
        byte_sbox<TABLES>::fill(constant_tables.te);
    fill_tables<TABLES>(DECRYPTS ? constant_tables.td : constant_tables.te);
    uint32_t lane = lane_address();
    key_type key(a);
    const uint32_t tables = TABLES * AES_TABLE_SHARED + (DECRYPTS ? MESSAGE_SBOX_SHARED : 0);
    segment s;
    for (uint32_t turn = 0; next_segment(a, turn, s); turn++)
        run_blocks<key_type, PIECE, DECRYPTS>(a, s, key, lane, tables);
}

#endif
