/*
 * Known answers of AES-GCM: facts from NIST's CAVP and from Wycheproof.
 *
 * make_vectors makes the rows, and says which were chosen.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_GCM_VECTORS_H
#define GPUAES_TEST_GCM_VECTORS_H

#include <stddef.h>

/* In hexadecimal digits, "" where there is nothing; `plain` is NULL where the source has none. */
struct gcm_vector {
    const char *source;
    int authentic;
    const char *key, *iv, *aad, *plain, *coded, *tag;
};

enum { GCM_LONGEST = 513 }; /* bytes of any of them */

static const struct gcm_vector gcm_vectors[] = {
#include "test/evp/gcm_vectors.inc"
};

#endif
