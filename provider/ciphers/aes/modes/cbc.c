/*
 * CBC: only decryption is parallel.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>

#include "provider/ciphers/blocks/blocks_cpu.h"
#include "provider/ciphers/blocks/segments.h"

/* `num` means nothing here, but setting the IV clears it, and what was set must be read back. */
static int set_position(struct aes_context *c, const unsigned char iv[GPUAES_BLOCK])
{
    unsigned num;
    return aes_get_uint(c, OSSL_CIPHER_PARAM_NUM, &num) && aes_set_iv(c, iv) &&
           (num == 0 || aes_set_uint(c, OSSL_CIPHER_PARAM_NUM, num));
}

const struct aes_mode aes_cbc = {.flags = MODE_CHAINED,
                                 .iv_bytes = GPUAES_BLOCK,
                                 .op = {GPUAES_CBC_DECRYPT, GPUAES_CBC_ENCRYPT},
                                 .op_names = {"CBC decrypt", "CBC encrypt"},
                                 .segment = aes_segment_blocks,
                                 .get_position = aes_get_iv,
                                 .set_position = set_position};
