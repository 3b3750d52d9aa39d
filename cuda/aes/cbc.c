/*
 * CBC, NIST SP 800-38A section 6.2. Only decryption is parallel.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/launch/mode.h"

static void advance(unsigned char iv[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last)
{
    (void)blocks;
    memcpy(iv, last, GPUAES_BLOCK);
}

const struct gpuaes_mode gpuaes_cbc_encrypt = {.name = "cbc_encrypt",
                                               .message_mode = MESSAGE_CBC,
                                               .taken_by = TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                               .takes_iv = 1,
                                               .serial = 1};

const struct gpuaes_mode gpuaes_cbc_decrypt = {.name = "cbc_decrypt",
                                               .message_mode = MESSAGE_CBC,
                                               .taken_by = TAKEN_BY_AES | TAKEN_BY_BINDING |
                                                           TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                               .decrypts = 1,
                                               .takes_iv = 1,
                                               .chained = 1,
                                               .tables_from = 1,
                                               .advance = advance};
