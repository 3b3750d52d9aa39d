/*
 * ECB: blocks without an IV.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/segments.h"

const struct aes_mode aes_ecb = {.op = {GPUAES_ECB_DECRYPT, GPUAES_ECB_ENCRYPT},
                                 .op_names = {"ECB decrypt", "ECB encrypt"},
                                 .segment = aes_segment_blocks,
                                 .get_position = aes_get_iv,
                                 .set_position = aes_set_iv};
