/*
 * The T-tables, computed by the compiler.
 *
 * A T-table merges SubBytes and MixColumns (J. Daemen, V. Rijmen, The Design of
 * Rijndael, section 4.2): te[x] is the column that byte x of row 0 contributes,
 * as a little-endian word, row r in byte r; the tables of rows 1 to 3 are its
 * rotations. They are defined in constant memory, and each block copies them to
 * shared memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_TABLES_CUH
#define GPUAES_KERNELS_AES_TABLES_CUH

#include "cuda/kernels/common/intrinsics.cuh"

struct aes_tables {
    uint32_t te[256]; /* 02, 01, 01, 03 times S(x) */
    uint32_t td[256]; /* 0e, 09, 0d, 0b times InvS(x): their sum is InvS(x) itself */
};

/* Multiplication in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1, FIPS 197 section 4.2. */
static constexpr uint32_t gf_multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; b != 0; b >>= 1) {
        if (b & 1)
            product ^= a;
        a = (a << 1) ^ ((a & 0x80) != 0 ? 0x11bu : 0);
    }
    return product;
}

static constexpr uint32_t rotate_byte_left(uint32_t x, int n)
{
    return ((x << n) | (x >> (8 - n))) & 0xff;
}

static constexpr aes_tables make_aes_tables()
{
    aes_tables tables = {};
    /* 03 generates the multiplicative group, f6 is its inverse: q = 1 / p. */
    uint32_t p = 1, q = 1;
    uint32_t sbox[256] = {};
    do {
        p = gf_multiply(p, 0x03);
        q = gf_multiply(q, 0xf6);
        sbox[p] = 0x63u ^ q ^ rotate_byte_left(q, 1) ^ rotate_byte_left(q, 2) ^
                  rotate_byte_left(q, 3) ^ rotate_byte_left(q, 4);
    } while (p != 1);
    sbox[0] = 0x63;

    for (uint32_t x = 0; x < 256; x++) {
        uint32_t s = sbox[x];
        tables.te[x] = gf_multiply(s, 2) | s << 8 | s << 16 | gf_multiply(s, 3) << 24;
        tables.td[s] = gf_multiply(x, 0x0e) | gf_multiply(x, 0x09) << 8 |
                       gf_multiply(x, 0x0d) << 16 | gf_multiply(x, 0x0b) << 24;
    }
    return tables;
}

static __constant__ const aes_tables constant_tables = make_aes_tables();

#endif
