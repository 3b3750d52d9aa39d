/*
 * What NIST SP 800-38D says of GCM beyond its two functions: limits, and blocks of lengths.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_GCM_H
#define GPUAES_GCM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GCM_USUAL_IV = 12 }; /* bytes of an IV that is no hash */

/* Bytes of text of a message at most: section 5.2.1.1. */
#define GCM_TEXT_MOST (((uint64_t)1 << 36) - 32)

/* Returns 1 if a tag may have so many bytes, 0 otherwise: section 5.2.1.2. */
static inline int gcm_tag_size_is_valid(size_t tag_bytes)
{
    return (tag_bytes >= 12 && tag_bytes <= 16) || tag_bytes == 8 || tag_bytes == 4;
}

/* Writes the block that is hashed last: two lengths, which are given in bytes, in bits. */
static inline void gcm_write_lengths(unsigned char block[16], uint64_t first, uint64_t second)
{
    const uint64_t bits[2] = {__builtin_bswap64(first * 8), __builtin_bswap64(second * 8)};
    memcpy(block, bits, sizeof bits);
}

/* gpuaes_gcm_hash() */
struct gpuaes_gcm_key;
typedef void gcm_hash_fn(const struct gpuaes_gcm_key *key, unsigned char hash[16], const void *data,
                         size_t len);

/* Makes J0, the counter block before the first one of text: section 7.1, step 2. */
static inline void gcm_first_counter(gcm_hash_fn *hash, const struct gpuaes_gcm_key *key,
                                     const unsigned char *iv, size_t iv_bytes,
                                     unsigned char counter[16])
{
    unsigned char lengths[16];
    memset(counter, 0, 16);
    if (iv_bytes == GCM_USUAL_IV) {
        memcpy(counter, iv, GCM_USUAL_IV);
        counter[15] = 1;
        return;
    }
    gcm_write_lengths(lengths, 0, iv_bytes);
    hash(key, counter, iv, iv_bytes);
    hash(key, counter, lengths, sizeof lengths);
}

#endif
