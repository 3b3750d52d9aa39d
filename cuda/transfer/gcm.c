/*
 * GCM over memory of any kind. Each piece is hashed by itself; the CPU joins the hashes of pieces,
 * transfers and devices by powers of H.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/process/cleanse.h"
#include "cuda/process/statistics.h"
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

static drv_result launch_blocks(struct transfer *t, size_t piece, drv_ptr in, drv_ptr out,
                                const unsigned char counter[GPUAES_BLOCK])
{
    const struct job *job = t->job;
    const struct slot *slot = piece_slot(t, piece);
    const struct kernels_scratch memory = {slot->scratch, slot->scratch_bytes};
    const struct kernels_sums before = {0, 0};
    struct kernels_sums own = {slot->staging_address + sums_at(t, slot), 0};
    struct aes_arguments arguments;
    drv_result r = DRV_SUCCESS;
    aes_fill_arguments(&arguments, job->op, job->key, counter, in, out, piece_in_bytes(t, piece));
    if (arguments.blocks != 0)
        r = kernels_launch_gcm(t->device->driver, &t->device->kernels, job->op, job->gcm,
                               &arguments, &before, &own, &memory, slot->stream);
    t->sums[piece % t->needs.slots] = own.count;
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r;
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
    const struct gcm_text *text = t->job->text;
    const unsigned char *counter = piece == 0 ? t->iv : t->next_iv[(piece - 1) % t->needs.slots];
    unsigned char *next = t->next_iv[piece % t->needs.slots];
    memmove(next, counter, GPUAES_BLOCK);
    drv_result r = launch_blocks(t, piece, in, out, next);
    gpuaes_modes[t->job->op]->advance(next, piece_in_bytes(t, piece) / GPUAES_BLOCK, NULL);
    if (r == DRV_SUCCESS && rest_bytes(t, piece) != 0)
        r = launch_rest(t, piece, in, out, next);
    if (r == DRV_SUCCESS && piece == 0 && t->at == 0 && text->meanwhile != NULL)
        text->meanwhile(text->arg);
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
    t->hash = ghash_add(
        t->hash, ghash_take(slot->staging + sums_at(t, slot), t->sums[piece % t->needs.slots]));
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

/* `bytes` of a text from `done` on, between two wraps of the counter. */
static enum gpuaes_status run(const struct gcm_text *text, size_t done, size_t bytes,
                              struct gpuaes_gcm_state *state, struct gpuaes_report *report)
{
    static const struct transform gcm = {job_begin_aes, extra, scratch, launch, finished};
    struct job job = {.transform = &gcm,
                      .in = text->in + done,
                      .out = text->out + done,
                      .in_bytes = bytes,
                      .out_bytes = bytes,
                      .in_unit = GPUAES_BLOCK,
                      .out_unit = GPUAES_BLOCK,
                      .flags = text->flags,
                      .op = text->op,
                      .key = &text->key->schedule,
                      .gcm = text->key,
                      .text = text};
    memcpy(job.iv, state->counter, GPUAES_BLOCK);
    job_report_nothing(report, bytes, state->counter);
    enum gpuaes_status status = job_run(&job, report);
    statistics_add_bytes(job.done);
    if (status != GPUAES_OK)
        return status;
    memcpy(state->counter, job.iv, GPUAES_BLOCK);
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *shard = &report->shard[i];
        if (done == 0 && i == 0)
            memcpy(state->hash, shard->hash, GPUAES_BLOCK);
        else
            gpuaes_gcm_join(text->key, state->hash, shard->hash,
                            (shard->done + GPUAES_BLOCK - 1) / GPUAES_BLOCK);
    }
    return GPUAES_OK;
}

/*
 * The first shard of what begins at `done` is lengthened to begin at 0, and the last one to end at
 * `len`: `before` is the hash of what is between them.
 */
SECRET_FRAME static void stretch(struct gpuaes_report *report, const struct gpuaes_gcm_key *key,
                                 const unsigned char before[GPUAES_BLOCK], size_t done, size_t len)
{
    for (unsigned i = 0; i < report->shards; i++)
        report->shard[i].at += i == 0 ? 0 : done;
    struct gpuaes_shard *first = &report->shard[0], *last = &report->shard[report->shards - 1];
    unsigned char hash[GPUAES_BLOCK];
    memcpy(hash, before, sizeof hash);
    gpuaes_gcm_join(key, hash, first->hash, first->done / GPUAES_BLOCK);
    memcpy(first->hash, hash, sizeof hash);
    first->at = 0;
    first->bytes += done;
    first->done += done;
    last->bytes = len - last->at;
}

/* What is between two wraps is joined in `call`, whose hash is that of this text. */
SECRET_FRAME static enum gpuaes_status
run_all(const struct gcm_text *text, struct gpuaes_gcm_state *state, struct gpuaes_report *report)
{
    struct gpuaes_gcm_state call = {{0}, {0}};
    unsigned char before[GPUAES_BLOCK];
    memcpy(call.counter, state->counter, GPUAES_BLOCK);
    enum gpuaes_status status = GPUAES_OK;
    size_t done = 0;
    while (done < text->len && status == GPUAES_OK) {
        size_t bytes = min_u64(text->len - done, gcm_blocks_to_wrap(call.counter) * GPUAES_BLOCK);
        memcpy(before, call.hash, sizeof before);
        status = run(text, done, bytes, &call, report);
        if (status == GPUAES_NOT_READY && done != 0) /* of which callers make another attempt */
            status = GPUAES_FAULT;
        if (done != 0 || bytes != text->len)
            stretch(report, text->key, before, done,
                    status == GPUAES_OK ? done + bytes : text->len);
        done += bytes;
    }
    if (status == GPUAES_OK)
        *state = call;
    return status;
}

enum gpuaes_status gcm_run(const struct gcm_text *text, struct gpuaes_gcm_state *state,
                           struct gpuaes_report *report)
{
    enum gpuaes_status status = run_all(text, state, report);
    cleanse_stack();
    return status;
}

enum gpuaes_status gpuaes_gcm(enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              struct gpuaes_gcm_state *state, const void *in, void *out, size_t len,
                              unsigned flags, struct gpuaes_report *report)
{
    const struct gcm_text text = {
        .op = op, .key = key, .in = in, .out = out, .len = len, .flags = flags};
    struct gpuaes_report own;
    struct gpuaes_gcm_state call;
    if (report == NULL)
        report = &own;
    job_report_nothing(report, len, state != NULL ? state->counter : NULL);
    if (mode_taken(op, TAKEN_BY_GCM) == NULL || key == NULL || state == NULL ||
        aes_bad_arguments(&key->schedule, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    memcpy(call.counter, state->counter, GPUAES_BLOCK);
    enum gpuaes_status status = gcm_run(&text, &call, report);
    if (status == GPUAES_OK) {
        memcpy(state->counter, call.counter, GPUAES_BLOCK);
        gpuaes_gcm_join(key, state->hash, call.hash, len / GPUAES_BLOCK);
    }
    gpuaes_cleanse(&call, sizeof call);
    if (report == &own)
        gpuaes_cleanse(own.shard, own.shards * sizeof *own.shard);
    return status;
}
