/*
 * The hash key of GCM and its powers, in the forms that memory may have them in.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_HASH_FORMS_H
#define GPUAES_TEST_HASH_FORMS_H

#include "cuda/gpuaes.h"

/* Puts H to the power of `exponent` into *power, a block as the standard has it. */
void hash_key_power(const struct gpuaes_gcm_key *key, uint64_t exponent,
                    unsigned char power[GPUAES_BLOCK]);

/*
 * The block itself; its two halves as numbers; all of it as a number, the low word first; and as a
 * factor, see cuda/launch/ghash.h.
 */
enum { HASH_FORMS = 4 };
void hash_forms(const unsigned char block[GPUAES_BLOCK],
                unsigned char forms[HASH_FORMS][GPUAES_BLOCK]);

#endif
