/*
 * The hash key of GCM and its powers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/hash_forms.h"

#include <string.h>

void hash_key_power(const struct gpuaes_gcm_key *key, uint64_t exponent,
                    unsigned char power[GPUAES_BLOCK])
{
    static const unsigned char zero[GPUAES_BLOCK], one[GPUAES_BLOCK] = {0x80};
    memcpy(power, one, GPUAES_BLOCK);
    gpuaes_gcm_join(key, power, zero, exponent);
}

static void store(unsigned char form[GPUAES_BLOCK], uint64_t first, uint64_t second)
{
    memcpy(form, &first, sizeof first);
    memcpy(form + sizeof first, &second, sizeof second);
}

void hash_forms(const unsigned char block[GPUAES_BLOCK],
                unsigned char forms[HASH_FORMS][GPUAES_BLOCK])
{
    uint64_t high = 0, low = 0;
    for (int i = 0; i < 8; i++) {
        high = high << 8 | block[i];
        low = low << 8 | block[8 + i];
    }
    memcpy(forms[0], block, GPUAES_BLOCK);
    store(forms[1], high, low);
    store(forms[2], low, high);
    uint64_t carry = high >> 63;
    store(forms[3], low << 1 ^ carry,
          (high << 1 | low >> 63) ^ (carry != 0 ? 0xc200000000000000 : 0));
}
