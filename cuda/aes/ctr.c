/*
 * CTR, NIST SP 800-38A section 6.5: the IV is a 128-bit big-endian counter.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"

static void advance(unsigned char iv[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last)
{
    (void)last;
    counter_add(iv, COUNTER_CTR, blocks);
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
