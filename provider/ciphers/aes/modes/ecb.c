/*
 * ECB: blocks without an IV.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/segments.h"

static int get_position(const struct aes_context *c, unsigned char iv[GPUAES_BLOCK])
{
    (void)c;
    (void)iv;
    return 1;
}

static int set_position(struct aes_context *c, const unsigned char iv[GPUAES_BLOCK])
{
    (void)c;
    (void)iv;
    return 1;
}

const struct aes_mode aes_ecb = {.op = {GPUAES_ECB_DECRYPT, GPUAES_ECB_ENCRYPT},
                                 .op_names = {"ECB decrypt", "ECB encrypt"},
                                 .segment = aes_segment_blocks,
                                 .get_position = get_position,
                                 .set_position = set_position};
