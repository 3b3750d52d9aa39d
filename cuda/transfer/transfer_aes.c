/*
 * AES over memory of any kind: calls, and what they do with the pieces of a transfer.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"

#include <string.h>

#include "cuda/transfer/transfer.h"

static const struct gpuaes_mode *mode_of(const struct transfer *t)
{
    return gpuaes_modes[t->job->op];
}

/* ---- Chained modes ---------------------------------------------------------------- */

/*
 * Each block needs the block of input before it, which may be overwritten in place, or belong to
 * the piece before. The CPU cannot read the input if that is device memory.
 */
static int is_chained_on_device(const struct transfer *t)
{
    return mode_of(t)->chained && t->job->in_memory.kind == GPUAES_DEVICE;
}

/* Up to here the CPU is faster in filling the chain of a kernel than another kernel. */
enum { CPU_CHAIN_MAX = 128 << 10 };

/* In place, with the kernel at the caller's own memory. */
static int chain_by_cpu(const struct transfer *t)
{
    return mode_of(t)->chained && t->in == t->out && t->job->in_memory.kind == GPUAES_PINNED &&
           t->in_bytes <= CPU_CHAIN_MAX;
}

static size_t extra(const struct transfer *t)
{
    if (is_chained_on_device(t))
        return GPUAES_BLOCK;
    return chain_by_cpu(t) ? AES_CHAIN_BYTES(t->in_bytes / GPUAES_BLOCK) : 0;
}

static drv_ptr fill_chain(const struct transfer *t, const struct slot *slot)
{
    size_t at = slot->staging_bytes - extra(t), chunk = (size_t)AES_CHUNK * GPUAES_BLOCK;
    unsigned char *entry = slot->staging + at;
    memcpy(entry, t->iv, GPUAES_BLOCK);
    for (size_t next = chunk; next < t->in_bytes; next += chunk)
        memcpy(entry += GPUAES_BLOCK, t->in + next - GPUAES_BLOCK, GPUAES_BLOCK);
    memcpy(entry + GPUAES_BLOCK, t->in + t->in_bytes - GPUAES_BLOCK, GPUAES_BLOCK);
    return slot->staging_address + at;
}

/* Where a slot keeps the last block of a piece of device memory. */
static unsigned char *last_block(const struct slot *slot)
{
    return slot->staging + slot->staging_bytes - GPUAES_BLOCK;
}

/*
 * The kernel gets the block before the piece, at `before`, and the last block of the piece is
 * kept, before the kernel may write over it.
 */
static drv_result chain_on_device(const struct transfer *t, size_t piece, drv_ptr before,
                                  struct aes_arguments *arguments)
{
    const struct driver *d = t->device->driver;
    const struct slot *slot = piece_slot(t, piece);
    drv_ptr begin = t->in_address + piece * t->in_piece;
    drv_result r =
        d->memcpy_dtoh_async(last_block(slot), begin + piece_in_bytes(t, piece) - GPUAES_BLOCK,
                             GPUAES_BLOCK, slot->stream);
    if (r != DRV_SUCCESS || piece == 0)
        return r;
    arguments->iv_at = before;
    return d->memcpy_dtod_async(before, begin - GPUAES_BLOCK, GPUAES_BLOCK, slot->stream);
}

/* ---- Pieces ---------------------------------------------------------------------- */

/* In a slot one block follows the scratch memory: the one before a piece of a chained mode. */
static struct kernels_scratch scratch_of(const struct slot *slot)
{
    struct kernels_scratch scratch = {.address = slot->scratch};
    if (slot->scratch_bytes >= GPUAES_BLOCK)
        scratch.bytes = slot->scratch_bytes / GPUAES_BLOCK * GPUAES_BLOCK - GPUAES_BLOCK;
    return scratch;
}

static size_t scratch(const struct transfer *t, int same)
{
    size_t most = piece_in_bytes(t, 0);
    /* Pieces behind the first find the block before them on the device. */
    int chained = mode_of(t)->chained && (same || (is_chained_on_device(t) && most < t->in_bytes));
    if (!chained)
        return 0;
    return (kernels_chain_bytes(most / GPUAES_BLOCK) / GPUAES_BLOCK + 2) * GPUAES_BLOCK;
}

static drv_result launch(struct transfer *t, size_t piece, drv_ptr in, drv_ptr out)
{
    const struct job *job = t->job;
    const struct device *device = t->device;
    const struct slot *slot = piece_slot(t, piece);
    const struct kernels_scratch memory = scratch_of(slot);
    const unsigned char *iv = piece == 0 ? t->iv : t->next_iv[(piece - 1) % t->needs.slots];
    unsigned char *next_iv = t->next_iv[piece % t->needs.slots];
    size_t end = piece * t->in_piece + piece_in_bytes(t, piece);
    struct aes_arguments arguments;
    aes_fill_arguments(&arguments, job->op, job->key, iv, in, out, piece_in_bytes(t, piece));
    memmove(next_iv, iv, GPUAES_BLOCK);
    drv_result r = DRV_SUCCESS;
    if (is_chained_on_device(t))
        r = chain_on_device(t, piece, memory.address + memory.bytes, &arguments);
    else if (mode_of(t)->advance != NULL)
        mode_of(t)->advance(next_iv, arguments.blocks, t->in + end - GPUAES_BLOCK);
    if (chain_by_cpu(t))
        arguments.chain = fill_chain(t, slot);
    if (r == DRV_SUCCESS)
        r = kernels_launch_aes(device->driver, &device->kernels, job->op, job->key->rounds,
                               &arguments, &memory, slot->stream);
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r;
}

static enum gpuaes_status finished(struct transfer *t, size_t piece)
{
    const unsigned char *next_iv = t->next_iv[piece % t->needs.slots];
    if (is_chained_on_device(t))
        next_iv = last_block(piece_slot(t, piece));
    memcpy(t->iv, next_iv, GPUAES_BLOCK);
    return GPUAES_OK;
}

void job_set_aes(struct job *job, const struct transform *transform, enum gpuaes_op op,
                 const struct gpuaes_key *key, const unsigned char *iv, const void *in, void *out,
                 size_t len, unsigned flags)
{
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    *job = (struct job){.transform = transform,
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
                        .key = key};
    if (iv != NULL)
        memcpy(job->iv, iv, GPUAES_BLOCK);
}

void job_begin_aes(struct job *job)
{
    const struct gpuaes_mode *mode = gpuaes_modes[job->op];
    for (unsigned i = 0; i < job->transfers; i++) {
        struct transfer *t = &job->transfer[i];
        memcpy(t->iv, job->iv, GPUAES_BLOCK);
        if (mode->advance != NULL && t->at != 0)
            mode->advance(t->iv, t->at / GPUAES_BLOCK, job->in + t->at - GPUAES_BLOCK);
    }
}

/* ---- Calls ----------------------------------------------------------------------- */

enum gpuaes_status gpuaes_aes(enum gpuaes_op op, const struct gpuaes_key *key,
                              unsigned char iv[GPUAES_BLOCK], const void *in, void *out, size_t len,
                              unsigned flags, struct gpuaes_report *report)
{
    static const struct transform aes = {job_begin_aes, extra, scratch, launch, finished};
    const struct gpuaes_mode *mode = mode_taken(op, TAKEN_BY_AES);
    if (report != NULL)
        job_report_nothing(report, len, mode != NULL && mode->takes_iv ? iv : NULL);
    if (mode == NULL || aes_bad_arguments(key, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    if (mode->takes_iv && iv == NULL)
        return GPUAES_BAD_ARGUMENT;
    struct job job;
    job_set_aes(&job, &aes, op, key, mode->takes_iv ? iv : NULL, in, out, len, flags);
    enum gpuaes_status status = job_run(&job, report);
    if (mode->takes_iv && status == GPUAES_OK)
        memcpy(iv, job.iv, GPUAES_BLOCK);
    if (mode->secret_iv)
        gpuaes_cleanse(&job, sizeof job);
    return status;
}
