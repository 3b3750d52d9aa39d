/*
 * The AES key schedule, FIPS 197 section 5.2, and the cipher for single blocks, section 5.1, on the
 * CPU and in constant time: the S-box is computed, not looked up, four bytes of a word at once.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/key_size.h"
#include "cuda/aes/aes.h"

/* Four bytes times x each, in GF(2^8). */
static uint32_t times_x(uint32_t a)
{
    uint32_t high = a & 0x80808080u;
    return ((a ^ high) << 1) ^ (high >> 7) * 0x1bu;
}

/* Four products of bytes at once. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int bit = 0; bit < 8; bit++) {
        uint32_t mask = (b >> bit & 0x01010101u) * 0xffu;
        product ^= a & mask;
        a = times_x(a);
    }
    return product;
}

static uint32_t rotate_bytes(uint32_t a, int n)
{
    uint32_t low = 0x01010101u * (0xffu >> n);
    return (a & low) << n | (a >> (8 - n) & ~(0x01010101u * (0xffu & (0xffu << n))));
}

/* S-box of four bytes: the inverse is the 254th power. */
static uint32_t substitute(uint32_t a)
{
    uint32_t a2 = multiply(a, a), a3 = multiply(a2, a);
    uint32_t a6 = multiply(a3, a3), a12 = multiply(a6, a6), a15 = multiply(a12, a3);
    uint32_t a30 = multiply(a15, a15), a60 = multiply(a30, a30), a120 = multiply(a60, a60);
    uint32_t a126 = multiply(a120, a6), a127 = multiply(a126, a), i = multiply(a127, a127);
    return 0x63636363u ^ i ^ rotate_bytes(i, 1) ^ rotate_bytes(i, 2) ^ rotate_bytes(i, 3) ^
           rotate_bytes(i, 4);
}

static uint32_t rotate_right(uint32_t a, unsigned n)
{
    return a >> n | a << (32 - n);
}

/* InvMixColumns of one column. */
static uint32_t inverse_mix(uint32_t a)
{
    uint32_t a2 = times_x(a), a4 = times_x(a2), a8 = times_x(a4);
    uint32_t a9 = a8 ^ a;
    return (a8 ^ a4 ^ a2) ^ rotate_right(a9 ^ a2, 8) ^ rotate_right(a9 ^ a4, 16) ^
           rotate_right(a9, 24);
}

static uint32_t load_word(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int gpuaes_key_expand(struct gpuaes_key *schedule, const unsigned char *key, size_t key_bytes)
{
    if (schedule == NULL || key == NULL || !key_size_is_valid(key_bytes))
        return 0;
    unsigned n = (unsigned)key_bytes / 4;
    uint32_t *w = schedule->encrypt;
    memset(schedule, 0, sizeof *schedule);
    schedule->rounds = key_size_rounds(key_bytes);
    unsigned words = 4 * (schedule->rounds + 1);

    for (unsigned i = 0; i < n; i++)
        w[i] = load_word(key + (size_t)4 * i);
    uint32_t round_constant = 1;
    for (unsigned i = n; i < words; i++) {
        uint32_t t = w[i - 1];
        if (i % n == 0) {
            t = substitute(rotate_right(t, 8)) ^ round_constant;
            round_constant = times_x(round_constant);
        } else if (n == 8 && i % n == 4) {
            t = substitute(t);
        }
        w[i] = w[i - n] ^ t;
    }
    for (unsigned round = 0; round <= schedule->rounds; round++)
        for (unsigned c = 0; c < 4; c++) {
            uint32_t word = w[4 * (schedule->rounds - round) + c];
            int outer = round == 0 || round == schedule->rounds;
            schedule->decrypt[4 * round + c] = outer ? word : inverse_mix(word);
        }
    return 1;
}

/* MixColumns of one column. */
static uint32_t mix(uint32_t a)
{
    uint32_t a2 = times_x(a);
    return a2 ^ rotate_right(a2 ^ a, 8) ^ rotate_right(a, 16) ^ rotate_right(a, 24);
}

/* SubBytes and ShiftRows of the column that begins with row 0 of `a`. */
static uint32_t substitute_row(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return substitute((a & 0xff) | (b & 0xff00) | (c & 0xff0000) | (d & 0xff000000));
}

void aes_encrypt_block(const struct gpuaes_key *key, const unsigned char in[GPUAES_BLOCK],
                       unsigned char out[GPUAES_BLOCK])
{
    uint32_t s[4], t[4];
    for (unsigned c = 0; c < 4; c++)
        s[c] = load_word(in + (size_t)4 * c) ^ key->encrypt[c];
    for (unsigned round = 1; round <= key->rounds; round++) {
        for (unsigned c = 0; c < 4; c++) {
            t[c] = substitute_row(s[c], s[(c + 1) % 4], s[(c + 2) % 4], s[(c + 3) % 4]);
            if (round != key->rounds)
                t[c] = mix(t[c]);
            t[c] ^= key->encrypt[4 * round + c];
        }
        memcpy(s, t, sizeof s);
    }
    for (unsigned i = 0; i < GPUAES_BLOCK; i++)
        out[i] = (unsigned char)(s[i / 4] >> 8 * (i % 4));
    gpuaes_cleanse(s, sizeof s);
    gpuaes_cleanse(t, sizeof t);
}
