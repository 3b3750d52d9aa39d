/*
 * AES over memory of any kind: what it does with a job and its pieces, in any mode.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"

#include <string.h>

#include "cuda/process/statistics.h"
#include "cuda/transfer/transfer.h"

const struct gpuaes_mode *const gpuaes_modes[GPUAES_BATCH_OPS] = {
    [GPUAES_ECB_ENCRYPT] = &gpuaes_ecb_encrypt,
    [GPUAES_ECB_DECRYPT] = &gpuaes_ecb_decrypt,
    [GPUAES_CBC_ENCRYPT] = &gpuaes_cbc_encrypt,
    [GPUAES_CBC_DECRYPT] = &gpuaes_cbc_decrypt,
    [GPUAES_CTR] = &gpuaes_ctr,
};

void aes_fill_arguments(struct aes_arguments *arguments, enum gpuaes_op op,
                        const struct gpuaes_key *key, const unsigned char *iv)
{
    memset(arguments, 0, sizeof *arguments);
    memcpy(arguments->round_key, gpuaes_modes[op]->decrypts ? key->decrypt : key->encrypt,
           sizeof arguments->round_key);
    if (iv != NULL)
        memcpy(arguments->iv, iv, sizeof arguments->iv);
}

/* ---- Pieces ---------------------------------------------------------------------- */

int aes_is_on_device(const struct transfer *t)
{
    return t->job->in_memory.kind == GPUAES_DEVICE;
}

struct kernels_scratch aes_scratch(const struct slot *slot)
{
    struct kernels_scratch scratch = {.address = slot->scratch};
    if (slot->scratch_bytes >= GPUAES_BLOCK)
        scratch.bytes = slot->scratch_bytes / GPUAES_BLOCK * GPUAES_BLOCK - GPUAES_BLOCK;
    return scratch;
}

unsigned char *aes_last_block(const struct slot *slot)
{
    return slot->staging + slot->staging_bytes - GPUAES_BLOCK;
}

static size_t extra(const struct transfer *t)
{
    const struct gpuaes_mode *mode = gpuaes_modes[t->job->op];
    return mode->extra != NULL ? mode->extra(t) : 0;
}

static size_t scratch(const struct transfer *t, size_t in_bytes, int same)
{
    /* Pieces behind the first find the block before them on the device. */
    int chained = gpuaes_modes[t->job->op]->chained &&
                  (same || (aes_is_on_device(t) && in_bytes < t->in_bytes));
    size_t bytes = kernels_scratch_bytes(&t->shard->device->kernels, t->job->op,
                                         in_bytes / GPUAES_BLOCK, chained);
    return bytes == 0 ? 0 : (bytes / GPUAES_BLOCK + 2) * GPUAES_BLOCK;
}

static drv_result launch(struct transfer *t, struct slot *slot, struct piece *piece, drv_ptr in,
                         drv_ptr out)
{
    const struct job *job = t->job;
    const struct gpuaes_mode *mode = gpuaes_modes[job->op];
    const struct device *device = t->shard->device;
    const struct kernels_scratch memory = aes_scratch(slot);
    struct aes_arguments arguments;
    aes_fill_arguments(&arguments, job->op, job->key, t->iv);
    arguments.in = in;
    arguments.out = out;
    arguments.blocks = piece->in_bytes / GPUAES_BLOCK;
    drv_result r = DRV_SUCCESS;
    if (mode->prepare != NULL)
        r = mode->prepare(t, slot, piece, &arguments);
    if (r == DRV_SUCCESS)
        r = kernels_launch_aes(device->driver, &device->kernels, job->op, job->key->rounds,
                               &arguments, &memory, slot->stream);
    if (mode->advance != NULL)
        mode->advance(t->iv, arguments.blocks, piece->last);
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r;
}

static enum gpuaes_status finished(struct transfer *t, const struct slot *slot,
                                   const struct piece *piece)
{
    const struct gpuaes_mode *mode = gpuaes_modes[t->job->op];
    if (mode->advance != NULL)
        mode->advance(t->shard->iv, piece->in_bytes / GPUAES_BLOCK,
                      mode->chained && aes_is_on_device(t) ? aes_last_block(slot) : piece->last);
    return GPUAES_OK;
}

/* The IV of each shard. */
static void begin(struct job *job)
{
    const struct gpuaes_mode *mode = gpuaes_modes[job->op];
    for (unsigned i = 0; i < job->shards; i++) {
        struct shard *shard = &job->shard[i];
        memcpy(shard->iv, job->iv, GPUAES_BLOCK);
        if (mode->advance != NULL && shard->at != 0)
            mode->advance(shard->iv, shard->at / GPUAES_BLOCK, job->in + shard->at - GPUAES_BLOCK);
    }
}

/* ---- Calls ----------------------------------------------------------------------- */

static const unsigned char no_iv[GPUAES_BLOCK];

int aes_bad_arguments(enum gpuaes_op op, const struct gpuaes_key *key, const void *in,
                      const void *out, size_t len)
{
    return (unsigned)op >= GPUAES_OPS || len % GPUAES_BLOCK != 0 ||
           (in != out && memory_overlap(in, len, out, len)) || key == NULL ||
           !key_size_is_valid(key_size_of(key->rounds));
}

static void fill_report(struct gpuaes_report *report, const struct job *job)
{
    report->shards = job->shards;
    for (unsigned i = 0; i < job->shards; i++) {
        const struct shard *from = &job->shard[i];
        struct gpuaes_shard *to = &report->shard[i];
        to->at = from->at;
        to->bytes = from->bytes;
        to->done = from->done;
        memcpy(to->iv, from->iv, GPUAES_BLOCK);
    }
}

enum gpuaes_status gpuaes_aes(enum gpuaes_op op, const struct gpuaes_key *key,
                              unsigned char iv[GPUAES_BLOCK], const void *in, void *out, size_t len,
                              unsigned flags, struct gpuaes_report *report)
{
    static const struct transform aes = {begin, extra, scratch, launch, finished};
    struct shard shard[GPUAES_SHARDS];
    if (report != NULL)
        report->shards = 0;
    if (aes_bad_arguments(op, key, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    struct job job = {.transform = &aes,
                      .in = in,
                      .out = out,
                      .in_bytes = len,
                      .out_bytes = len,
                      .in_unit = GPUAES_BLOCK,
                      .out_unit = GPUAES_BLOCK,
                      .flags = flags,
                      .out_of_place = mode->chained,
                      .whole = mode->chained,
                      .keystream = mode->keystream,
                      .op = op,
                      .key = key,
                      .iv = mode->takes_iv ? iv : no_iv,
                      .shard = shard};
    enum gpuaes_status status = job_run(&job);
    size_t done = 0;
    for (unsigned i = 0; i < job.shards; i++)
        done += shard[i].done;
    statistics_add_bytes(done);
    if (report != NULL)
        fill_report(report, &job);
    if (mode->takes_iv && status == GPUAES_OK)
        memcpy(iv, shard[job.shards - 1].iv, GPUAES_BLOCK);
    return status;
}
