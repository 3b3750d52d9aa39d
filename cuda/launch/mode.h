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

/* The functions that take an operation; gpuaes.h has the same as a table. */
enum {
    TAKEN_BY_AES = 1,     /* gpuaes_aes() */
    TAKEN_BY_GCM = 2,     /* gpuaes_gcm(), gpuaes_stream_binding_gcm() */
    TAKEN_BY_BINDING = 4, /* gpuaes_stream_binding_aes() */
    TAKEN_BY_BATCH = 8,   /* gpuaes_batch_add() */
    TAKEN_BY_QUEUE = 16   /* gpuaes_queue() */
};

struct gpuaes_mode {
    const char *name;               /* as kernels have it: aes_NAME_SIZE_ROUNDS */
    enum message_mode message_mode; /* as the kernels of messages have it */
    unsigned taken_by;
    int decrypts; /* kernels take the schedule of the inverse cipher */
    int takes_iv;
    int secret_iv; /* what is left of it in memory is cleansed */
    int serial;    /* a block needs the one before it: a message a lane */
    int keystream; /* without input, kernels write the keystream */
    int hashes;    /* GCM: a tag belongs to each message */
    int pairs;     /* XTS: in batches a key is two, the second of which encrypts tweaks */
    int chained;   /* kernels need the block of input before each block; see arguments.h */

    /* Kernels of two tables are faster from so many blocks a thread of the device; their warps take
     * so many blocks at a time (0: each thread one). */
    unsigned tables_from, warp_blocks;

    /* Moves an IV past `blocks` blocks of input, the last of which is `last`. NULL: no IV. */
    void (*advance)(unsigned char iv[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last);
};

/* By enum gpuaes_op; all but serial ones have kernels for single streams. */
enum { GPUAES_ALL_OPS = GPUAES_XTS_DECRYPT + 1 };
extern const struct gpuaes_mode *const gpuaes_modes[GPUAES_ALL_OPS];

extern const struct gpuaes_mode gpuaes_ecb_encrypt, gpuaes_ecb_decrypt, gpuaes_cbc_encrypt,
    gpuaes_cbc_decrypt, gpuaes_ctr, gpuaes_gcm_encrypt_mode, gpuaes_gcm_decrypt_mode,
    gpuaes_xts_encrypt, gpuaes_xts_decrypt;

/* Returns the row of an operation; NULL where there is none, or the function does not take it. */
static inline const struct gpuaes_mode *mode_taken(enum gpuaes_op op, unsigned by)
{
    if ((unsigned)op >= GPUAES_ALL_OPS || (gpuaes_modes[op]->taken_by & by) == 0)
        return NULL;
    return gpuaes_modes[op];
}

#endif
