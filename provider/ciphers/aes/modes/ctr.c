/*
 * CTR: a stream cipher. The counter block is a 128-bit big-endian number.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>

#include "provider/ciphers/blocks/blocks_cpu.h"

/* The default provider's context counts the bytes of the keystream block that it has used. */
static int segment(const struct aes_context *c, struct request *r)
{
    unsigned used;
    if (!aes_get_uint(c, OSSL_CIPHER_PARAM_NUM, &used) || used >= GPUAES_BLOCK)
        return 1;
    r->head_in = r->head_out = (GPUAES_BLOCK - used) % GPUAES_BLOCK;
    if (r->in_bytes >= r->head_in && r->outsize >= r->in_bytes)
        r->middle = (r->in_bytes - r->head_in) / GPUAES_BLOCK * GPUAES_BLOCK;
    return 1;
}

const struct aes_mode aes_ctr = {.flags = MODE_STREAM | MODE_KEYSTREAM,
                                 .iv_bytes = GPUAES_BLOCK,
                                 .op = {GPUAES_CTR, GPUAES_CTR},
                                 .op_names = {"CTR", "CTR"},
                                 .segment = segment,
                                 .get_position = aes_get_iv,
                                 .set_position = aes_set_iv,
                                 .advance = aes_advance_counter};
