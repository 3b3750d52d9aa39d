/*
 * Published vectors: FIPS 197 appendices B and C; NIST SP 800-38A F.1, F.2 and F.5.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_VECTORS_H
#define GPUAES_TEST_VECTORS_H

#include "test/support/providers.h"

struct vector {
    const char *source, *cipher, *key, *iv, *plain, *coded;
};

enum { VECTORS = 13 };
extern const struct vector vectors[VECTORS];

size_t from_hex(unsigned char *to, const char *hex);

#endif
