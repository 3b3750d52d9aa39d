/*
 * ECB, NIST SP 800-38A section 6.1: blocks that know nothing of each other.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/mode.h"

const struct gpuaes_mode gpuaes_ecb_encrypt = {.name = "ecb_encrypt",
                                               .message_mode = MESSAGE_ECB,
                                               .taken_by = TAKEN_BY_AES | TAKEN_BY_BINDING |
                                                           TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                               .tables_from = 1};

const struct gpuaes_mode gpuaes_ecb_decrypt = {.name = "ecb_decrypt",
                                               .message_mode = MESSAGE_ECB,
                                               .taken_by = TAKEN_BY_AES | TAKEN_BY_BINDING |
                                                           TAKEN_BY_BATCH | TAKEN_BY_QUEUE,
                                               .decrypts = 1,
                                               .tables_from = 1};
