/*
 * Known answers of AES-XTS: facts from NIST's CAVP, Wycheproof and IEEE Std 1619.
 *
 * make_vectors makes the rows, and says which were chosen.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_XTS_VECTORS_H
#define GPUAES_TEST_XTS_VECTORS_H

#include <stddef.h>

/* In hexadecimal digits. */
struct xts_vector {
    const char *source, *key, *tweak, *plain, *coded;
};

enum { XTS_LONGEST = 512 }; /* bytes of any of them */

static const struct xts_vector xts_vectors[] = {
#include "test/evp/xts_vectors.inc"
};

#endif
