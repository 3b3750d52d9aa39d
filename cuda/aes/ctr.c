/*
 * CTR, NIST SP 800-38A section 6.5: the IV is a 128-bit big-endian counter.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"

void aes_add_blocks(unsigned char counter[GPUAES_BLOCK], uint64_t blocks)
{
    unsigned carry = 0;
    for (int i = GPUAES_BLOCK - 1; i >= 0; i--) {
        unsigned sum = counter[i] + (unsigned)(blocks & 0xff) + carry;
        counter[i] = (unsigned char)sum;
        carry = sum >> 8;
        blocks >>= 8;
    }
}

static void advance(unsigned char iv[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last)
{
    (void)last;
    aes_add_blocks(iv, blocks);
}

/* Warps of two-table kernels take 256 counters, so those pay later than other modes'. */
const struct gpuaes_mode gpuaes_ctr = {.name = "ctr",
                                       .message_mode = MESSAGE_CTR,
                                       .taken_by = TAKEN_BY_AES | TAKEN_BY_BINDING |
                                                   TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                       .takes_iv = 1,
                                       .keystream = 1,
                                       .tables_from = 6,
                                       .warp_blocks = 256,
                                       .advance = advance};
