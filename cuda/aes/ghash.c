/*
 * GHASH on the CPU, by integer multiplication.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/ghash.h"

#include <string.h>

/* ---- Carry-less multiplication ------------------------------------------------------- */

/*
 * The low half of a product, by multiplication with holes: of four bits one is used, so that sums
 * of up to 15 bits carry into holes alone. After Thomas Pornin, BearSSL, ghash_ctmul64.
 */
static uint64_t multiply_low(uint64_t a, uint64_t b)
{
    const uint64_t one_of_four = 0x1111111111111111;
    uint64_t x[4], y[4], product = 0;
    for (int i = 0; i < 4; i++) {
        x[i] = a & one_of_four << i;
        y[i] = b & one_of_four << i;
    }
    for (int i = 0; i < 4; i++)
        product |=
            (x[0] * y[i] ^ x[1] * y[(i + 3) % 4] ^ x[2] * y[(i + 2) % 4] ^ x[3] * y[(i + 1) % 4]) &
            one_of_four << i;
    return product;
}

static uint64_t mirror(uint64_t a)
{
    a = (a & 0x5555555555555555) << 1 | (a >> 1 & 0x5555555555555555);
    a = (a & 0x3333333333333333) << 2 | (a >> 2 & 0x3333333333333333);
    a = (a & 0x0f0f0f0f0f0f0f0f) << 4 | (a >> 4 & 0x0f0f0f0f0f0f0f0f);
    return __builtin_bswap64(a);
}

/* Adds a product to `low` and `high`. The product of mirrored numbers is the mirrored product. */
static void add_product(uint64_t *low, uint64_t *high, uint64_t a, uint64_t b)
{
    *low ^= multiply_low(a, b);
    *high ^= mirror(multiply_low(mirror(a), mirror(b))) >> 1;
}

/* ---- The field ----------------------------------------------------------------------- */

struct ghash_element ghash_load(const unsigned char block[GPUAES_BLOCK])
{
    struct ghash_element e;
    memcpy(&e.high, block, sizeof e.high);
    memcpy(&e.low, block + sizeof e.high, sizeof e.low);
    return (struct ghash_element){__builtin_bswap64(e.low), __builtin_bswap64(e.high)};
}

void ghash_store(unsigned char block[GPUAES_BLOCK], struct ghash_element e)
{
    uint64_t high = __builtin_bswap64(e.high), low = __builtin_bswap64(e.low);
    memcpy(block, &high, sizeof high);
    memcpy(block + sizeof high, &low, sizeof low);
}

struct ghash_element ghash_multiply(struct ghash_element a, struct ghash_element b)
{
    const uint64_t polynomial = 0xc200000000000000;
    uint64_t w0 = 0, w1 = 0, w2 = 0, w3 = 0;
    add_product(&w0, &w1, a.low, b.low);
    add_product(&w1, &w2, a.high, b.low);
    add_product(&w1, &w2, a.low, b.high);
    add_product(&w2, &w3, a.high, b.high);
    add_product(&w1, &w2, w0, polynomial);
    w2 ^= w0;
    add_product(&w2, &w3, w1, polynomial);
    return (struct ghash_element){w2, w3 ^ w1};
}

struct ghash_element ghash_factor(struct ghash_element e)
{
    const uint64_t polynomial = 0xc200000000000000, carry = e.high >> 63;
    return (struct ghash_element){e.low << 1 ^ carry,
                                  (e.high << 1 | e.low >> 63) ^ ((0 - carry) & polynomial)};
}

struct ghash_element ghash_power(const struct gpuaes_gcm_key *key, uint64_t exponent)
{
    struct ghash_element base = {key->h[0], key->h[1]};
    struct ghash_element power = ghash_factor((struct ghash_element){0, (uint64_t)1 << 63});
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            power = ghash_multiply(power, base);
        base = ghash_multiply(base, base);
    }
    return power;
}
