/*
 * XTS, IEEE Std 1619 section 5.3, without ciphertext stealing: the IV is the encrypted tweak of the
 * next block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/ghash.h"
#include "cuda/launch/mode.h"

/* GHASH has the same field, and the bits of each byte in the opposite order. */
static void mirror_bytes(unsigned char block[GPUAES_BLOCK])
{
    for (int i = 0; i < GPUAES_BLOCK; i++) {
        unsigned b = block[i];
        b = (b & 0x0f) << 4 | b >> 4;
        b = (b & 0x33) << 2 | (b >> 2 & 0x33);
        b = (b & 0x55) << 1 | (b >> 1 & 0x55);
        block[i] = (unsigned char)b;
    }
}

/* Times x^blocks. */
static void advance(unsigned char tweak[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last)
{
    static const struct ghash_element x = {0, (uint64_t)1 << 62};
    struct ghash_element power = ghash_factor(x);
    (void)last;
    mirror_bytes(tweak);
    struct ghash_element t = ghash_load(tweak);
    for (; blocks != 0; blocks >>= 1) {
        if (blocks & 1)
            t = ghash_multiply(t, power);
        power = ghash_multiply(power, power);
    }
    ghash_store(tweak, t);
    mirror_bytes(tweak);
}

const struct gpuaes_mode gpuaes_xts_encrypt = {.name = "xts_encrypt",
                                               .message_mode = MESSAGE_XTS,
                                               .taken_by =
                                                   TAKEN_BY_AES | TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                               .takes_iv = 1,
                                               .secret_iv = 1,
                                               .pairs = 1,
                                               .tables_from = 1,
                                               .advance = advance};

const struct gpuaes_mode gpuaes_xts_decrypt = {.name = "xts_decrypt",
                                               .message_mode = MESSAGE_XTS,
                                               .taken_by =
                                                   TAKEN_BY_AES | TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                               .decrypts = 1,
                                               .takes_iv = 1,
                                               .secret_iv = 1,
                                               .pairs = 1,
                                               .tables_from = 1,
                                               .advance = advance};
