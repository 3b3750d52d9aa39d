/*
 * Counter blocks of CTR and GCM, of 16 bytes, whose last ones are a big-endian number.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_COUNTER_H
#define GPUAES_COUNTER_H

#include <stdint.h>
#include <string.h>

/* The bytes that count. In GCM: inc32, NIST SP 800-38D section 6.2. */
enum { COUNTER_CTR = 16, COUNTER_GCM = 4 };

/* Adds `blocks` to the last `bytes` of a counter block. */
static inline void counter_add(unsigned char counter[16], int bytes, uint64_t blocks)
{
    unsigned carry = 0;
    for (int i = 15; i >= 16 - bytes; i--) {
        unsigned sum = counter[i] + (unsigned)(blocks & 0xff) + carry;
        counter[i] = (unsigned char)sum;
        carry = sum >> 8;
        blocks >>= 8;
    }
}

/* Returns how many blocks a counter block of GCM can count before it wraps. */
static inline uint64_t counter_until_wrap(const unsigned char counter[16])
{
    uint32_t low;
    memcpy(&low, counter + (16 - COUNTER_GCM), sizeof low);
    return ((uint64_t)1 << 32) - __builtin_bswap32(low);
}

#endif
