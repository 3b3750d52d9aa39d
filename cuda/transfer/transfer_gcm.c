/*
 * GCM over memory of any kind. Each piece is hashed by itself; the CPU joins the hashes of pieces,
 * transfers and devices by powers of H.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/process/cleanse.h"
#include "cuda/transfer/transfer.h"

/* ---- Pieces ---------------------------------------------------------------------- */

/* Where a slot has the sums of its piece, and behind them ciphertext that is no whole block. */
static size_t extra(const struct transfer *t)
{
    return kernels_gcm_sums_bytes(&t->device->kernels) + GPUAES_BLOCK;
}

static size_t sums_at(const struct transfer *t, const struct slot *slot)
{
    return slot->staging_bytes - extra(t);
}

static size_t rest_at(const struct slot *slot)
{
    return slot->staging_bytes - GPUAES_BLOCK;
}

static size_t scratch(const struct transfer *t, int same)
{
    (void)same;
    return kernels_gcm_scratch_bytes(&t->device->kernels, t->job->op,
                                     piece_in_bytes(t, 0) / GPUAES_BLOCK);
}

/* ---- The end of a text that is no whole block ---------------------------------------- */

static size_t rest_bytes(const struct transfer *t, size_t piece)
{
    return piece_in_bytes(t, piece) % GPUAES_BLOCK;
}

/* The CPU encrypts the counter while the kernels before this one run. */
static drv_result launch_rest(const struct transfer *t, size_t piece, drv_ptr in, drv_ptr out,
                              const unsigned char counter[GPUAES_BLOCK])
{
    const struct slot *slot = piece_slot(t, piece);
    const size_t bytes = rest_bytes(t, piece), at = piece_in_bytes(t, piece) - bytes;
    struct gcm_rest_arguments arguments = {.in = in + at,
                                           .out = out + at,
                                           .ciphertext = slot->staging_address + rest_at(slot),
                                           .bytes = (uint32_t)bytes,
                                           .decrypts = t->job->op == GPUAES_GCM_DECRYPT};
    unsigned char keystream[GPUAES_BLOCK];
    aes_encrypt_block(t->job->key, counter, keystream);
    memcpy(arguments.keystream, keystream, sizeof keystream);
    drv_result r =
        kernels_launch_gcm_rest(t->device->driver, &t->device->kernels, &arguments, slot->stream);
    gpuaes_cleanse(keystream, sizeof keystream);
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r;
}

/* ---- A piece, from launch to hash ---------------------------------------------------- */

static drv_result launch(struct transfer *t, size_t piece, drv_ptr in, drv_ptr out)
{
    const struct job *job = t->job;
    const struct slot *slot = piece_slot(t, piece);
    const struct kernels_scratch memory = {slot->scratch, slot->scratch_bytes};
    const unsigned char *counter = piece == 0 ? t->iv : t->next_iv[(piece - 1) % t->needs.slots];
    unsigned char *next = t->next_iv[piece % t->needs.slots];
    struct kernels_sums *sums = &t->sums[piece % t->needs.slots];
    struct aes_arguments arguments;
    aes_fill_arguments(&arguments, job->op, job->key, counter, in, out, piece_in_bytes(t, piece));
    *sums = (struct kernels_sums){.memory = slot->staging_address + sums_at(t, slot)};
    drv_result r = kernels_launch_gcm(t->device->driver, &t->device->kernels, job->op, job->gcm,
                                      &arguments, sums, &memory, slot->stream);
    memmove(next, counter, GPUAES_BLOCK);
    gpuaes_modes[job->op]->advance(next, arguments.blocks, NULL);
    gpuaes_cleanse(&arguments, sizeof arguments);
    if (r == DRV_SUCCESS && rest_bytes(t, piece) != 0)
        r = launch_rest(t, piece, in, out, next);
    if (r == DRV_SUCCESS && piece == 0 && t->at == 0 && job->meanwhile != NULL)
        job->meanwhile(job->meanwhile_arg);
    return r;
}

/* Whole pieces, of which there may be many, share a power. */
static struct ghash_element power_of(struct transfer *t, size_t bytes)
{
    if (bytes != t->in_piece)
        return ghash_power(t->job->gcm, bytes / GPUAES_BLOCK);
    if (bytes != t->power_bytes)
        t->power = ghash_power(t->job->gcm, bytes / GPUAES_BLOCK);
    t->power_bytes = bytes;
    return t->power;
}

SECRET_FRAME static void add_piece(struct transfer *t, size_t piece)
{
    const struct slot *slot = piece_slot(t, piece);
    if (t->done != 0)
        t->hash = ghash_multiply(t->hash, power_of(t, piece_in_bytes(t, piece)));
    t->hash =
        ghash_add(t->hash, kernels_take_sums(&t->device->kernels, &t->sums[piece % t->needs.slots],
                                             slot->staging + sums_at(t, slot)));
    if (rest_bytes(t, piece) != 0)
        t->hash = ghash_multiply(ghash_add(t->hash, ghash_load(slot->staging + rest_at(slot))),
                                 ghash_h(t->job->gcm));
}

static enum gpuaes_status finished(struct transfer *t, size_t piece)
{
    add_piece(t, piece);
    cleanse_stack();
    memcpy(t->iv, t->next_iv[piece % t->needs.slots], GPUAES_BLOCK);
    return GPUAES_OK;
}

/* ---- Calls ----------------------------------------------------------------------- */

void gcm_set_job(struct job *job, enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                 const unsigned char counter[GPUAES_BLOCK], const void *in, void *out, size_t len,
                 unsigned flags)
{
    static const struct transform gcm = {job_begin_aes, extra, scratch, launch, finished};
    job_set_aes(job, &gcm, op, &key->schedule, counter, in, out, len, flags);
    job->gcm = key;
}

void gcm_hash_of(const struct gpuaes_gcm_key *key, const struct gpuaes_report *report,
                 unsigned char hash[GPUAES_BLOCK])
{
    memcpy(hash, report->shard[0].hash, GPUAES_BLOCK);
    for (unsigned i = 1; i < report->shards; i++)
        gpuaes_gcm_join(key, hash, report->shard[i].hash,
                        (report->shard[i].done + GPUAES_BLOCK - 1) / GPUAES_BLOCK);
}

enum gpuaes_status gpuaes_gcm(enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              struct gpuaes_gcm_state *state, const void *in, void *out, size_t len,
                              unsigned flags, struct gpuaes_report *report)
{
    struct job job;
    struct gpuaes_report own;
    unsigned char hash[GPUAES_BLOCK];
    if (report == NULL)
        report = &own;
    job_report_nothing(report, len, state != NULL ? state->counter : NULL);
    if (mode_taken(op, TAKEN_BY_GCM) == NULL || key == NULL || state == NULL ||
        aes_bad_arguments(&key->schedule, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    gcm_set_job(&job, op, key, state->counter, in, out, len, flags);
    enum gpuaes_status status = job_run(&job, report);
    if (status == GPUAES_OK) {
        memcpy(state->counter, job.iv, GPUAES_BLOCK);
        gcm_hash_of(key, report, hash);
        gpuaes_gcm_join(key, state->hash, hash, len / GPUAES_BLOCK);
        gpuaes_cleanse(hash, sizeof hash);
    }
    cleanse_stack();
    if (report == &own)
        gpuaes_cleanse(own.shard, own.shards * sizeof *own.shard);
    return status;
}
