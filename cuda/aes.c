/*
 * AES over memory of any kind: the modes' part of a transfer.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "device.h"
#include "memory.h"
#include "statistics.h"
#include "transfer.h"

/* Pieces under way, and the one that is being queued. */
enum { CHAIN = LANE_SLOTS + 1 };

struct aes_job {
    struct transfer transfer; /* first: the callbacks get this */
    enum gpuaes_op op;
    const struct gpuaes_key *key;
    unsigned char iv[GPUAES_BLOCK];           /* CTR: of the whole; CBC: of the next piece */
    unsigned char chain[CHAIN][GPUAES_BLOCK]; /* CBC: what follows each piece under way */
    unsigned char *continues;                 /* the caller's iv */
};

/* Adds to a 128-bit big-endian number. */
static void add_blocks(unsigned char counter[GPUAES_BLOCK], uint64_t blocks)
{
    unsigned carry = 0;
    for (int i = GPUAES_BLOCK - 1; i >= 0; i--) {
        unsigned sum = counter[i] + (unsigned)(blocks & 0xff) + carry;
        counter[i] = (unsigned char)sum;
        carry = sum >> 8;
        blocks >>= 8;
    }
}

/* The last block of a piece of input, wherever that is. */
static drv_result last_block(const struct transfer *t, const struct device *device,
                             const struct slot *slot, const struct piece *piece,
                             unsigned char block[GPUAES_BLOCK])
{
    const unsigned char *from = t->in + piece->in_at + piece->in_bytes - GPUAES_BLOCK;
    if (t->in_kind != GPUAES_DEVICE) {
        memcpy(block, from, GPUAES_BLOCK);
        return DRV_SUCCESS;
    }
    drv_result r = device->driver.memcpy_dtoh_async(slot->staging, memory_address(from),
                                                    GPUAES_BLOCK, slot->stream);
    if (r == DRV_SUCCESS)
        r = device_wait(device, slot->stream, NULL);
    if (r == DRV_SUCCESS)
        memcpy(block, slot->staging, GPUAES_BLOCK);
    return r;
}

static drv_result launch(struct transfer *t, struct device *device, struct slot *slot,
                         const struct piece *piece, drv_ptr in, drv_ptr out)
{
    struct aes_job *job = (struct aes_job *)t;
    struct aes_arguments arguments = {.in = in, .out = out};
    unsigned char iv[GPUAES_BLOCK];
    int decrypts = job->op == GPUAES_ECB_DECRYPT || job->op == GPUAES_CBC_DECRYPT;
    arguments.blocks = piece->in_bytes / GPUAES_BLOCK;
    memcpy(arguments.round_key, decrypts ? job->key->decrypt : job->key->encrypt,
           sizeof arguments.round_key);
    memcpy(iv, job->iv, sizeof iv);
    if (job->op == GPUAES_CTR)
        add_blocks(iv, piece->in_at / GPUAES_BLOCK);
    memcpy(arguments.iv, iv, sizeof iv);

    drv_result r = DRV_SUCCESS;
    if (job->op == GPUAES_CBC_DECRYPT) {
        r = last_block(t, device, slot, piece, job->iv);
        memcpy(job->chain[piece->number % CHAIN], job->iv, GPUAES_BLOCK);
    }
    if (r == DRV_SUCCESS)
        r = kernels_launch_aes(&device->driver, &device->kernels, job->op, job->key->rounds,
                               &arguments, slot->stream);
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r;
}

static enum gpuaes_status finished(struct transfer *t, struct slot *slot, const struct piece *piece)
{
    struct aes_job *job = (struct aes_job *)t;
    (void)slot;
    if (job->op == GPUAES_CTR)
        add_blocks(job->continues, piece->in_bytes / GPUAES_BLOCK);
    else if (job->op == GPUAES_CBC_DECRYPT)
        memcpy(job->continues, job->chain[piece->number % CHAIN], GPUAES_BLOCK);
    return GPUAES_OK;
}

static int overlap(const unsigned char *a, const unsigned char *b, size_t len)
{
    return a != b && a < b + len && b < a + len;
}

static enum gpuaes_status run(struct device *device, struct aes_job *job, unsigned flags)
{
    struct transfer *t = &job->transfer;
    enum gpuaes_status status = memory_kind(device, t->in, t->in_bytes, &t->in_kind);
    if (status == GPUAES_OK)
        status = memory_kind(device, t->out, t->out_bytes, &t->out_kind);
    if (status != GPUAES_OK)
        return status;
    if (t->in_kind == GPUAES_FOREIGN || t->out_kind == GPUAES_FOREIGN)
        return GPUAES_BAD_RANGE;
    t->apart = job->op == GPUAES_CBC_DECRYPT;
    t->keystream =
        job->op == GPUAES_CTR && t->in_kind != GPUAES_DEVICE && t->out_kind == GPUAES_PAGEABLE;
    return transfer_run(device, t, flags);
}

enum gpuaes_status gpuaes_aes(enum gpuaes_op op, const struct gpuaes_key *key,
                              unsigned char iv[GPUAES_BLOCK], const void *in, void *out, size_t len,
                              unsigned flags, size_t *done)
{
    *done = 0;
    if ((unsigned)op >= GPUAES_OPS || len % GPUAES_BLOCK != 0 || overlap(in, out, len) ||
        (key->rounds != 10 && key->rounds != 12 && key->rounds != 14))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    struct visit visit;
    struct device *device = device_enter(&visit);
    if (device == NULL)
        return GPUAES_NOT_READY;

    struct aes_job job = {
        .transfer = {.in = in,
                     .out = out,
                     .in_bytes = len,
                     .out_bytes = len,
                     .in_unit = GPUAES_BLOCK,
                     .out_unit = GPUAES_BLOCK,
                     .launch = launch,
                     .finished = finished},
        .op = op,
        .key = key,
        .continues = iv,
    };
    if (op == GPUAES_CTR || op == GPUAES_CBC_DECRYPT)
        memcpy(job.iv, iv, GPUAES_BLOCK);
    enum gpuaes_status status = run(device, &job, flags);
    *done = job.transfer.in_done;
    statistics_add_bytes(*done);
    device_leave(device, &visit);
    gpuaes_cleanse(&job, sizeof job);
    return status;
}
