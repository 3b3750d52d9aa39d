/*
 * Modes of AES: a row for each, in a file of its own in cuda/aes/. What differs between modes is
 * in their rows, and nowhere else on the host.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_LAUNCH_MODE_H
#define GPUAES_CUDA_LAUNCH_MODE_H

#include "cuda/driver/driver.h"
#include "cuda/gpuaes.h"
#include "cuda/kernels/common/arguments.h"

struct gpuaes_mode {
    const char *name;               /* as kernels have it: aes_NAME_SIZE_ROUNDS */
    enum message_mode message_mode; /* as the kernels of messages have it */
    int decrypts;                   /* kernels take the schedule of the inverse cipher */
    int takes_iv;
    int secret_iv; /* what is left of it in memory is cleansed */
    int serial;    /* a block needs the one before it: in batches only, a message a thread */
    int keystream; /* without input, kernels write the keystream */
    int hashes;    /* GCM: a tag belongs to each message */
    int pairs;     /* XTS: in batches a key is two, the second of which encrypts tweaks */
    int chained;   /* kernels need the block of input before each block; see arguments.h */

    /* The large kernels are faster from so many blocks a thread of the device; their warps take
     * so many blocks at a time (0: each thread one). */
    unsigned large_from, warp_blocks;

    /* Moves an IV past `blocks` blocks of input, the last of which is `last`. NULL: no IV. */
    void (*advance)(unsigned char iv[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last);
};

/* By enum gpuaes_op; all but serial ones have kernels for single streams. */
extern const struct gpuaes_mode *const gpuaes_modes[GPUAES_ALL_OPS];

extern const struct gpuaes_mode gpuaes_ecb_encrypt, gpuaes_ecb_decrypt, gpuaes_cbc_encrypt,
    gpuaes_cbc_decrypt, gpuaes_ctr, gpuaes_gcm_encrypt_mode, gpuaes_gcm_decrypt_mode,
    gpuaes_xts_encrypt, gpuaes_xts_decrypt;

#endif
