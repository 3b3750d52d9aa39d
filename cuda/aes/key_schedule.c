/*
 * The AES key schedule, FIPS 197 section 5.2, and the cipher for single blocks, section 5.1, on the
 * CPU and in constant time: the S-box is computed, not looked up, all bytes of a state at once.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/key_size.h"
#include "cuda/aes/aes.h"

/* A word is a column, whose byte r is row r; a state or a round key has four. */
typedef uint32_t words __attribute__((vector_size(GPUAES_BLOCK)));

/* The bytes times x each, in GF(2^8). */
static words times_x(words a)
{
    words high = a & 0x80808080u;
    return (a ^ high) << 1 ^ ((high - (high >> 7)) & 0x1b1b1b1bu);
}

/* Products of bytes. */
static words multiply(words a, words b)
{
    words product = {0};
    for (int bit = 0; bit < 8; bit++) {
        words low = b >> bit & 0x01010101u;
        product ^= a & ((low << 8) - low);
        a = times_x(a);
    }
    return product;
}

/* Their squares: sums of those of the bits. */
static words square(words a)
{
    static const uint32_t squares[] = {0x01010101, 0x04040404, 0x10101010, 0x40404040,
                                       0x1b1b1b1b, 0x6c6c6c6c, 0xabababab, 0x9a9a9a9a};
    words sum = {0};
    for (int bit = 0; bit < 8; bit++) {
        words low = a >> bit & 0x01010101u;
        sum ^= squares[bit] & ((low << 8) - low);
    }
    return sum;
}

static words rotate_bytes(words a, int n)
{
    uint32_t low = 0x01010101u * (0xffu >> n);
    return (a & low) << n | (a >> (8 - n) & ~(0x01010101u * (0xffu & (0xffu << n))));
}

/* S-box of the bytes: the inverse is the 254th power. */
static words substitute(words a)
{
    words a2 = square(a), a3 = multiply(a2, a);
    words a6 = square(a3), a12 = square(a6), a15 = multiply(a12, a3);
    words a30 = square(a15), a60 = square(a30), a120 = square(a60);
    words a126 = multiply(a120, a6), a127 = multiply(a126, a), i = square(a127);
    return 0x63636363u ^ i ^ rotate_bytes(i, 1) ^ rotate_bytes(i, 2) ^ rotate_bytes(i, 3) ^
           rotate_bytes(i, 4);
}

static words rotate_right(words a, int n)
{
    return a >> n | a << (32 - n);
}

/* InvMixColumns. */
static words inverse_mix(words a)
{
    words a2 = times_x(a), a4 = times_x(a2), a8 = times_x(a4);
    words a9 = a8 ^ a;
    return (a8 ^ a4 ^ a2) ^ rotate_right(a9 ^ a2, 8) ^ rotate_right(a9 ^ a4, 16) ^
           rotate_right(a9, 24);
}

static words load_words(const void *p)
{
    words a;
    memcpy(&a, p, sizeof a);
    return a;
}

static uint32_t substitute_word(uint32_t a)
{
    return substitute((words){a})[0];
}

int gpuaes_key_expand(struct gpuaes_key *schedule, const unsigned char *key, size_t key_bytes)
{
    if (schedule == NULL || key == NULL || !key_size_is_valid(key_bytes))
        return 0;
    unsigned n = (unsigned)key_bytes / 4;
    uint32_t *w = schedule->encrypt, round_constant = 1;
    memset(schedule, 0, sizeof *schedule);
    schedule->rounds = key_size_rounds(key_bytes);
    memcpy(w, key, key_bytes);
    for (unsigned i = n; i < 4 * (schedule->rounds + 1); i++) {
        uint32_t t = w[i - 1];
        if (i % n == 0) {
            t = substitute_word(t >> 8 | t << 24) ^ round_constant;
            round_constant = round_constant << 1 ^ (round_constant >> 7) * 0x11bu;
        } else if (n == 8 && i % n == 4) {
            t = substitute_word(t);
        }
        w[i] = w[i - n] ^ t;
    }
    for (unsigned round = 0; round <= schedule->rounds; round++) {
        words key_words = load_words(w + 4 * (schedule->rounds - round));
        if (round != 0 && round != schedule->rounds)
            key_words = inverse_mix(key_words);
        memcpy(schedule->decrypt + 4 * round, &key_words, sizeof key_words);
    }
    return 1;
}

/* MixColumns. */
static words mix(words a)
{
    words a2 = times_x(a);
    return a2 ^ rotate_right(a2 ^ a, 8) ^ rotate_right(a, 16) ^ rotate_right(a, 24);
}

static words shift_rows(words a)
{
    const words second = {a[1], a[2], a[3], a[0]}, third = {a[2], a[3], a[0], a[1]},
                fourth = {a[3], a[0], a[1], a[2]};
    return (a & 0xff) | (second & 0xff00) | (third & 0xff0000) | (fourth & 0xff000000);
}

void aes_encrypt_block(const struct gpuaes_key *key, const unsigned char in[GPUAES_BLOCK],
                       unsigned char out[GPUAES_BLOCK])
{
    words s = load_words(in) ^ load_words(key->encrypt);
    for (unsigned round = 1; round <= key->rounds; round++) {
        s = shift_rows(substitute(s));
        if (round != key->rounds)
            s = mix(s);
        s ^= load_words(key->encrypt + (size_t)4 * round);
    }
    memcpy(out, &s, sizeof s);
    gpuaes_cleanse(&s, sizeof s);
}
