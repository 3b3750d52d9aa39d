/*
 * Sizes of AES keys. A key of 16, 24 or 32 bytes takes 10, 12 or 14 rounds.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KEY_SIZE_H
#define GPUAES_KEY_SIZE_H

#include <stddef.h>

enum { KEY_SIZES = 3 };

static inline int key_size_is_valid(size_t key_bytes)
{
    return key_bytes == 16 || key_bytes == 24 || key_bytes == 32;
}

/* Returns the place of a size in arrays of KEY_SIZES: the first of them for 0, which is no key. */
static inline unsigned key_size_index(size_t key_bytes)
{
    return key_bytes == 0 ? 0 : (unsigned)(key_bytes / 8) - 2;
}

static inline unsigned key_size_rounds(size_t key_bytes)
{
    return (unsigned)(key_bytes / 4) + 6;
}

/* Returns the bytes of a key that takes so many rounds. Any other number gives no valid size. */
static inline size_t key_size_of(unsigned rounds)
{
    return ((size_t)rounds - 6) * 4;
}

#endif
