/*
 * GHASH on the CPU, by integer multiplication.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/ghash.h"

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

/* A product of 128 bits. That of mirrored numbers is the mirrored product. */
static struct ghash_element product(uint64_t a, uint64_t b)
{
    return (struct ghash_element){multiply_low(a, b),
                                  mirror(multiply_low(mirror(a), mirror(b))) >> 1};
}

/* The square of a number has its bits, and a zero between each two. */
static uint64_t spread(uint32_t half)
{
    uint64_t a = half;
    a = (a | a << 16) & 0x0000ffff0000ffff;
    a = (a | a << 8) & 0x00ff00ff00ff00ff;
    a = (a | a << 4) & 0x0f0f0f0f0f0f0f0f;
    a = (a | a << 2) & 0x3333333333333333;
    return (a | a << 1) & 0x5555555555555555;
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

/* Adds the product of a word and the polynomial of the field to the two words above it. */
static void fold(uint64_t *low, uint64_t *high, uint64_t word)
{
    *low ^= word << 63 ^ word << 62 ^ word << 57;
    *high ^= word ^ word >> 1 ^ word >> 2 ^ word >> 7;
}

static struct ghash_element reduce(struct ghash_element low, struct ghash_element high)
{
    fold(&low.high, &high.low, low.low);
    fold(&high.low, &high.high, low.high);
    return high;
}

/* Three products of halves, after Karatsuba. */
struct ghash_element ghash_multiply(struct ghash_element a, struct ghash_element b)
{
    struct ghash_element low = product(a.low, b.low), high = product(a.high, b.high);
    struct ghash_element middle = product(a.low ^ a.high, b.low ^ b.high);
    middle = ghash_add(middle, ghash_add(low, high));
    low.high ^= middle.low;
    high.low ^= middle.high;
    return reduce(low, high);
}

struct ghash_element ghash_square(struct ghash_element a)
{
    return reduce(
        (struct ghash_element){spread((uint32_t)a.low), spread((uint32_t)(a.low >> 32))},
        (struct ghash_element){spread((uint32_t)a.high), spread((uint32_t)(a.high >> 32))});
}

struct ghash_element ghash_factor(struct ghash_element e)
{
    const uint64_t polynomial = 0xc200000000000000, carry = e.high >> 63;
    return (struct ghash_element){e.low << 1 ^ carry,
                                  (e.high << 1 | e.low >> 63) ^ ((0 - carry) & polynomial)};
}

struct ghash_element ghash_power(const struct gpuaes_gcm_key *key, uint64_t exponent)
{
    struct ghash_element base = ghash_h(key);
    struct ghash_element power = ghash_factor((struct ghash_element){0, (uint64_t)1 << 63});
    for (int is_one = 1; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            power = is_one ? base : ghash_multiply(power, base);
            is_one = 0;
        }
        base = ghash_square(base);
    }
    return power;
}
