/*
 * GHASH on the CPU, NIST SP 800-38D section 6.4, in constant time.
 *
 * An element is the big-endian number of a block, whose highest bit is the coefficient of x^0.
 * Factors are elements times x, as POLYVAL has them (RFC 8452 appendix A); kernels take both in
 * this form, see ghash_arguments.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_LAUNCH_GHASH_H
#define GPUAES_CUDA_LAUNCH_GHASH_H

#include "cuda/gpuaes.h"

struct ghash_element {
    uint64_t low, high;
};

struct ghash_element ghash_load(const unsigned char block[GPUAES_BLOCK]);
void ghash_store(unsigned char block[GPUAES_BLOCK], struct ghash_element element);

static inline struct ghash_element ghash_add(struct ghash_element a, struct ghash_element b)
{
    return (struct ghash_element){a.low ^ b.low, a.high ^ b.high};
}

/* Returns the product of an element and a factor; of two factors, another factor. */
struct ghash_element ghash_multiply(struct ghash_element a, struct ghash_element factor);

/* Returns the product of a factor and itself. */
struct ghash_element ghash_square(struct ghash_element factor);

/* Returns the factor of an element. */
struct ghash_element ghash_factor(struct ghash_element element);

/* Returns the factor of H. */
static inline struct ghash_element ghash_h(const struct gpuaes_gcm_key *key)
{
    return (struct ghash_element){key->h[0], key->h[1]};
}

/* Writes an element or a factor as kernels take it. */
static inline void ghash_set(uint64_t to[2], struct ghash_element e)
{
    to[0] = e.low;
    to[1] = e.high;
}

/* Returns the factor of H to the power of `exponent`. Time depends on the exponent alone. */
struct ghash_element ghash_power(const struct gpuaes_gcm_key *key, uint64_t exponent);

#endif
