/*
 * AES on T-tables in shared memory: the rounds, for any placement of tables.
 *
 * Every lane of a warp has its own copy of each table, in its own bank, so no
 * two lanes ever meet in a bank and the time of a lookup does not depend on
 * its index. That is where the speed comes from, and why neither data nor key
 * can be read from the timing.
 *
 * A placement (aes_large.cu, aes_small.cu) is a class with
 *   table<ROW>(x)      the table of row ROW at byte ROW of x
 *   substitute(...)    the last round's S-box bytes of four words, one a row
 *   inverse_sbox       its byte offset in shared memory
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_ROUNDS_CUH
#define GPUAES_KERNELS_AES_ROUNDS_CUH

#include "aes_tables.cuh"
#include "arguments.h"

extern __shared__ __align__(16) uint32_t shared_words[];

enum { LANES = 32 };

/* Words c of a state or a round key are columns, FIPS 197 section 3.4. */
struct aes_state {
    uint32_t c0, c1, c2, c3;
};

static __device__ __forceinline__ uint32_t lane_offset()
{
    return (threadIdx.x % LANES) * 4;
}

/* A word of shared memory at a byte address within it. */
static __device__ __forceinline__ uint32_t shared_word(uint32_t address)
{
    return *reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(shared_words) +
                                               address);
}

static __device__ __forceinline__ aes_state load_block(uint64_t base, uint64_t index)
{
    uint4 v = __ldcs(reinterpret_cast<const uint4 *>(base) + index);
    return {v.x, v.y, v.z, v.w};
}

static __device__ __forceinline__ void store_block(uint64_t base, uint64_t index, aes_state s)
{
    __stcs(reinterpret_cast<uint4 *>(base) + index, make_uint4(s.c0, s.c1, s.c2, s.c3));
}

static __device__ __forceinline__ aes_state operator^(aes_state a, aes_state b)
{
    return {a.c0 ^ b.c0, a.c1 ^ b.c1, a.c2 ^ b.c2, a.c3 ^ b.c3};
}

static __device__ __forceinline__ aes_state round_key(const aes_arguments &arguments, int round)
{
    const uint32_t *w = &arguments.round_key[4 * round];
    return {w[0], w[1], w[2], w[3]};
}

/* SubBytes, ShiftRows, MixColumns and AddRoundKey of one column. */
template <class Tables>
static __device__ __forceinline__ uint32_t mix_column(uint32_t lane, uint32_t row0, uint32_t row1,
                                                      uint32_t row2, uint32_t row3, uint32_t key)
{
    return xor3(xor3(Tables::template table<0>(row0, lane), Tables::template table<1>(row1, lane),
                     Tables::template table<2>(row2, lane)),
                Tables::template table<3>(row3, lane), key);
}

template <class Tables>
static __device__ __forceinline__ aes_state encrypt_round(uint32_t lane, aes_state s, aes_state key)
{
    return {mix_column<Tables>(lane, s.c0, s.c1, s.c2, s.c3, key.c0),
            mix_column<Tables>(lane, s.c1, s.c2, s.c3, s.c0, key.c1),
            mix_column<Tables>(lane, s.c2, s.c3, s.c0, s.c1, key.c2),
            mix_column<Tables>(lane, s.c3, s.c0, s.c1, s.c2, key.c3)};
}

/* InvShiftRows moves the other way; otherwise as above, with inverse tables. */
template <class Tables>
static __device__ __forceinline__ aes_state decrypt_round(uint32_t lane, aes_state s, aes_state key)
{
    return {mix_column<Tables>(lane, s.c0, s.c3, s.c2, s.c1, key.c0),
            mix_column<Tables>(lane, s.c1, s.c0, s.c3, s.c2, key.c1),
            mix_column<Tables>(lane, s.c2, s.c1, s.c0, s.c3, key.c2),
            mix_column<Tables>(lane, s.c3, s.c2, s.c1, s.c0, key.c3)};
}

/* Rounds FIRST to the last of a state that has passed those before. */
template <class Tables, int ROUNDS, int FIRST>
static __device__ __forceinline__ aes_state encrypt_from(uint32_t lane, aes_state s,
                                                         const aes_arguments &arguments)
{
#pragma unroll
    for (int round = FIRST; round < ROUNDS; round++)
        s = encrypt_round<Tables>(lane, s, round_key(arguments, round));
    aes_state last = {Tables::substitute(lane, s.c0, s.c1, s.c2, s.c3),
                      Tables::substitute(lane, s.c1, s.c2, s.c3, s.c0),
                      Tables::substitute(lane, s.c2, s.c3, s.c0, s.c1),
                      Tables::substitute(lane, s.c3, s.c0, s.c1, s.c2)};
    return last ^ round_key(arguments, ROUNDS);
}

template <class Tables, int ROUNDS>
static __device__ __forceinline__ aes_state encrypt_block(uint32_t lane, aes_state s,
                                                          const aes_arguments &arguments)
{
    return encrypt_from<Tables, ROUNDS, 1>(lane, s ^ round_key(arguments, 0), arguments);
}

/*
 * The inverse S-box lies byte-wise, four entries a word, word w of a lane's
 * copy at w * 32 + lane: also here each lane stays in its own bank.
 */
static __device__ __forceinline__ uint32_t inverse_sbox_at(uint32_t base, uint32_t lane, uint32_t x)
{
    uint32_t address = base + ((x & 0xfcu) * LANES | lane | (x & 3u));
    return reinterpret_cast<const unsigned char *>(shared_words)[address];
}

template <class Tables>
static __device__ __forceinline__ uint32_t inverse_substitute(uint32_t lane, uint32_t row0,
                                                              uint32_t row1, uint32_t row2,
                                                              uint32_t row3)
{
    return inverse_sbox_at(Tables::inverse_sbox, lane, row0 & 0xff) |
           inverse_sbox_at(Tables::inverse_sbox, lane, row1 >> 8 & 0xff) << 8 |
           inverse_sbox_at(Tables::inverse_sbox, lane, row2 >> 16 & 0xff) << 16 |
           inverse_sbox_at(Tables::inverse_sbox, lane, row3 >> 24) << 24;
}

/* The equivalent inverse cipher, FIPS 197 section 5.3.5. */
template <class Tables, int ROUNDS>
static __device__ __forceinline__ aes_state decrypt_block(uint32_t lane, aes_state s,
                                                          const aes_arguments &arguments)
{
    s = s ^ round_key(arguments, 0);
#pragma unroll
    for (int round = 1; round < ROUNDS; round++)
        s = decrypt_round<Tables>(lane, s, round_key(arguments, round));
    aes_state last = {inverse_substitute<Tables>(lane, s.c0, s.c3, s.c2, s.c1),
                      inverse_substitute<Tables>(lane, s.c1, s.c0, s.c3, s.c2),
                      inverse_substitute<Tables>(lane, s.c2, s.c1, s.c0, s.c3),
                      inverse_substitute<Tables>(lane, s.c3, s.c2, s.c1, s.c0)};
    return last ^ round_key(arguments, ROUNDS);
}

template <class Tables> static __device__ __forceinline__ void fill_inverse_sbox()
{
    for (uint32_t i = threadIdx.x; i < 64 * LANES; i += blockDim.x)
        shared_words[Tables::inverse_sbox / 4 + i] = constant_tables.inverse_sbox[i / LANES];
}

/* The counter block of NIST SP 800-38A: a 128-bit big-endian number. */
struct counter {
    uint64_t high, low;
};

static __device__ __forceinline__ counter first_counter(const aes_arguments &arguments)
{
    return {static_cast<uint64_t>(swap_bytes(arguments.iv[0])) << 32 | swap_bytes(arguments.iv[1]),
            static_cast<uint64_t>(swap_bytes(arguments.iv[2])) << 32 | swap_bytes(arguments.iv[3])};
}

static __device__ __forceinline__ counter advance(counter c, uint64_t blocks)
{
    uint64_t low = c.low + blocks;
    return {c.high + (low < blocks ? 1 : 0), low};
}

static __device__ __forceinline__ aes_state counter_block(counter c)
{
    return {
        swap_bytes(static_cast<uint32_t>(c.high >> 32)), swap_bytes(static_cast<uint32_t>(c.high)),
        swap_bytes(static_cast<uint32_t>(c.low >> 32)), swap_bytes(static_cast<uint32_t>(c.low))};
}

/* ---- Modes, a thread a block, for any placement ------------------------- */

template <class Tables, int ROUNDS>
static __device__ __forceinline__ void ecb_encrypt(const aes_arguments &arguments)
{
    uint32_t lane = lane_offset();
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < arguments.blocks; i += stride)
        store_block(arguments.out, i,
                    encrypt_block<Tables, ROUNDS>(lane, load_block(arguments.in, i), arguments));
}

template <class Tables, int ROUNDS>
static __device__ __forceinline__ void ecb_decrypt(const aes_arguments &arguments)
{
    uint32_t lane = lane_offset();
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < arguments.blocks; i += stride)
        store_block(arguments.out, i,
                    decrypt_block<Tables, ROUNDS>(lane, load_block(arguments.in, i), arguments));
}

template <class Tables, int ROUNDS>
static __device__ __forceinline__ void cbc_decrypt(const aes_arguments &arguments)
{
    uint32_t lane = lane_offset();
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    aes_state iv = {arguments.iv[0], arguments.iv[1], arguments.iv[2], arguments.iv[3]};
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < arguments.blocks; i += stride) {
        aes_state previous = i == 0 ? iv : load_block(arguments.in, i - 1);
        aes_state plain =
            decrypt_block<Tables, ROUNDS>(lane, load_block(arguments.in, i), arguments);
        store_block(arguments.out, i, plain ^ previous);
    }
}

/* Keystream to `out`, combined with the input if there is any. */
static __device__ __forceinline__ void store_keystream(const aes_arguments &arguments, uint64_t i,
                                                       aes_state keystream)
{
    if (arguments.in != 0)
        keystream = keystream ^ load_block(arguments.in, i);
    store_block(arguments.out, i, keystream);
}

#endif
