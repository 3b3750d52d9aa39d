/*
 * The field of GHASH by its definition, NIST SP 800-38D section 6.3.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_ELEMENT_H
#define GPUAES_TEST_ELEMENT_H

#include <stdint.h>

/* The big-endian number of a block, whose highest bit is the coefficient of x^0. */
struct element {
    uint64_t low, high;
};

static inline struct element element_read(const unsigned char block[16])
{
    struct element e = {0, 0};
    for (int i = 0; i < 8; i++) {
        e.high = e.high << 8 | block[i];
        e.low = e.low << 8 | block[8 + i];
    }
    return e;
}

static inline struct element element_add(struct element a, struct element b)
{
    return (struct element){a.low ^ b.low, a.high ^ b.high};
}

static inline struct element element_multiply(struct element a, struct element b)
{
    struct element product = {0, 0};
    for (int bit = 127; bit >= 0; bit--) {
        if (((bit < 64 ? a.low >> bit : a.high >> (bit - 64)) & 1) != 0)
            product = element_add(product, b);
        uint64_t carry = b.low & 1;
        b.low = b.low >> 1 | b.high << 63;
        b.high = b.high >> 1 ^ (carry != 0 ? (uint64_t)0xe1 << 56 : 0);
    }
    return product;
}

static inline struct element element_power(struct element base, unsigned exponent)
{
    struct element p = {0, (uint64_t)1 << 63};
    for (; exponent != 0; exponent /= 2) {
        if (exponent % 2 != 0)
            p = element_multiply(p, base);
        base = element_multiply(base, base);
    }
    return p;
}

/* As kernels have factors: times x, where the bits of POLYVAL go the other way. */
static inline void element_write_factor(uint64_t to[2], struct element e)
{
    uint64_t carry = e.high >> 63;
    to[0] = e.low << 1 ^ carry;
    to[1] = (e.high << 1 | e.low >> 63) ^ (carry != 0 ? (uint64_t)0xc2 << 56 : 0);
}

#endif
