/*
 * Messages of GCM in batches: what they have besides other messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "cuda/batch/batch.h"

enum { ENCRYPTION, DECRYPTION };
enum { IV_BYTES = 12, FIRST_ROOM = 64, LEVELS_LEAST = 8 /* that kernels read */ };

/* ---- Adding ------------------------------------------------------------------------- */

int batch_gcm_is_bad(const struct gpuaes_message *m)
{
    if (m->iv_bytes == 0 || m->iv_bytes > GPUAES_BATCH_AAD_BYTES ||
        m->aad_bytes > GPUAES_BATCH_AAD_BYTES || (m->aad == NULL && m->aad_bytes != 0))
        return 1;
    return m->tag == NULL || m->tag_bytes > GPUAES_BLOCK ||
           (m->tag_bytes < 12 && m->tag_bytes != 8 && m->tag_bytes != 4);
}

/* Bytes of an IV that is hashed. */
static size_t hashed_iv(const struct gpuaes_message *m)
{
    return m->iv_bytes == IV_BYTES ? 0 : m->iv_bytes;
}

size_t batch_gcm_data_bytes(const struct gpuaes_message *m)
{
    return round_up(hashed_iv(m), GPUAES_BLOCK) + round_up(m->aad_bytes, GPUAES_BLOCK);
}

int batch_gcm_has_room(struct gpuaes_batch *batch, size_t data_bytes)
{
    if (batch->gcms == batch->gcm_room) {
        uint32_t room = batch->gcm_room == 0 ? FIRST_ROOM : batch->gcm_room * 2;
        struct batch_gcm *grown = realloc(batch->gcm, room * sizeof *grown);
        if (grown == NULL)
            return 0;
        batch->gcm = grown;
        batch->gcm_room = room;
    }
    if (data_bytes > batch->data_room - batch->data_bytes) {
        size_t room = (batch->data_bytes + data_bytes) * 2;
        unsigned char *grown = realloc(batch->data, room);
        if (grown == NULL)
            return 0;
        batch->data = grown;
        batch->data_room = room;
    }
    return 1;
}

/* Appends to the batch's data, padded to whole blocks. Returns the offset there. */
static size_t add_data(struct gpuaes_batch *batch, const void *data, size_t bytes)
{
    size_t at = batch->data_bytes;
    if (data == NULL || bytes == 0)
        return at;
    batch->data_bytes += round_up(bytes, GPUAES_BLOCK);
    memset(batch->data + batch->data_bytes - GPUAES_BLOCK, 0, GPUAES_BLOCK);
    memcpy(batch->data + at, data, bytes);
    return at;
}

void batch_gcm_counter(const struct gpuaes_message *m, unsigned char counter[GPUAES_BLOCK])
{
    memset(counter, 0, GPUAES_BLOCK);
    if (m->iv_bytes != IV_BYTES)
        return;
    memcpy(counter, m->iv, IV_BYTES);
    counter[GPUAES_BLOCK - 1] = 2;
}

static size_t blocks_of(size_t bytes)
{
    return round_up(bytes, GPUAES_BLOCK) / GPUAES_BLOCK;
}

/* Gives the last message its IV (unless that is in its counter), additional data and tag. */
static void fill(struct gpuaes_batch *batch, struct batch_gcm *gcm, const unsigned char *iv,
                 const unsigned char *aad, unsigned char *tag)
{
    gcm->message = batch->messages - 1;
    gcm->device.iv = add_data(batch, iv, gcm->device.iv_bytes);
    gcm->device.aad = add_data(batch, aad, gcm->device.aad_bytes);
    if (gcm->tag != NULL) {
        gcm->tag = tag;
    } else {
        batch->gcm_decrypts++;
        memcpy(gcm->device.tag, tag, gcm->device.tag_bytes);
    }
}

void batch_gcm_add(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    struct batch_gcm *gcm = &batch->gcm[batch->gcms++];
    *gcm = (struct batch_gcm){
        .device = {.rest = m->len % GPUAES_BLOCK,
                   .aad_bytes = (uint32_t)m->aad_bytes,
                   .iv_bytes = (uint32_t)hashed_iv(m),
                   .tag_bytes = (uint32_t)m->tag_bytes},
        .tag = m->op == GPUAES_GCM_ENCRYPT ? m->tag : NULL,
        .blocks = (uint32_t)(blocks_of(m->aad_bytes) + blocks_of(m->len) + 1),
    };
    if (batch->gcm_longest < gcm->blocks)
        batch->gcm_longest = gcm->blocks;
    fill(batch, gcm, m->iv, m->aad, m->tag);
}

void batch_gcm_add_alike(struct gpuaes_batch *batch, const struct gpuaes_message *records,
                         const unsigned char *iv, size_t i)
{
    struct batch_gcm *gcm = &batch->gcm[batch->gcms++];
    *gcm = gcm[-1];
    iv += i * records->iv_bytes;
    if (records->iv_bytes == IV_BYTES)
        memcpy(batch->message[batch->messages - 1].device.iv, iv, IV_BYTES);
    const unsigned char *aad = records->aad;
    if (aad != NULL)
        aad += i * records->aad_bytes;
    fill(batch, gcm, iv, aad, records->tag + i * records->tag_bytes);
}

/* ---- Layout -------------------------------------------------------------------------- */

static size_t results_bytes(size_t count)
{
    return count * GPUAES_BLOCK;
}

/* How many of a slice are decrypted. */
static uint32_t count_decrypts(const struct gpuaes_batch *batch, const struct batch_slice *slice)
{
    uint32_t decrypts = 0;
    if (batch->gcm_decrypts == 0 || batch->gcm_decrypts == batch->gcms)
        return batch->gcm_decrypts == 0 ? 0 : slice->gcm_end - slice->gcm_begin;
    for (uint32_t i = slice->gcm_begin; i < slice->gcm_end; i++)
        decrypts += batch->gcm[i].tag == NULL;
    return decrypts;
}

size_t batch_gcm_place(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                       unsigned char *plan, size_t at, struct batch_gcm_layout *layout)
{
    uint32_t messages = slice->gcm_end - slice->gcm_begin;
    size_t begin = batch->gcm[slice->gcm_begin].device.iv;
    size_t data = batch_gcm_data_end(&batch->gcm[slice->gcm_end - 1]) - begin;
    memset(layout, 0, sizeof *layout);
    layout->count[DECRYPTION] = count_decrypts(batch, slice);
    layout->count[ENCRYPTION] = messages - layout->count[DECRYPTION];
    layout->each = kernels_gcm_batch_chunk(&batch->device->kernels, slice->blocks);
    for (layout->levels = LEVELS_LEAST; batch->gcm_longest >> layout->levels != 0;)
        layout->levels++;
    layout->messages[ENCRYPTION] = at;
    layout->messages[DECRYPTION] =
        at + layout->count[ENCRYPTION] * sizeof(struct gcm_batch_message);
    layout->first[ENCRYPTION] = at + messages * sizeof(struct gcm_batch_message);
    layout->first[DECRYPTION] =
        layout->first[ENCRYPTION] + (layout->count[ENCRYPTION] + 1) * sizeof(uint32_t);
    layout->data =
        layout->first[ENCRYPTION] + round_up((messages + 2) * sizeof(uint32_t), GPUAES_BLOCK);
    layout->results = slice->plan - results_bytes(messages);
    if (data != 0)
        memcpy(plan + layout->data, batch->data + begin, data);
    return layout->data + data;
}

/* ---- Kernels -------------------------------------------------------------------------- */

static drv_result launch(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                         const struct slot *slot, const struct batch_layout *layout,
                         enum gcm_batch_kernel kernel, int decrypts)
{
    const struct batch_gcm_layout *gcm = &layout->gcm;
    struct device *device = batch->device;
    size_t results = gcm->results + (decrypts ? results_bytes(gcm->count[ENCRYPTION]) : 0);
    drv_ptr states = slot->scratch + slice->plan + slice->schedules;
    struct gcm_batch_arguments a = {
        .messages = slot->scratch + gcm->messages[decrypts],
        .first = slot->scratch + gcm->first[decrypts],
        .schedules = slot->scratch + slice->plan,
        .powers = states + slice->states,
        .keys = slot->scratch + layout->keys,
        .states = states + (decrypts ? gcm->count[ENCRYPTION] * sizeof(struct gcm_batch_state) : 0),
        .results = slot->staging_address + results,
        .plan = slot->scratch,
        .count = gcm->count[decrypts],
        .chunks = gcm->chunks[decrypts],
        .key_count = layout->key_count,
        .decrypts = (uint32_t)decrypts,
        .levels = gcm->levels,
    };
    if (a.count == 0 && kernel != GCM_BATCH_POWERS_KERNEL)
        return DRV_SUCCESS;
    return kernels_launch_gcm_batch(device->driver, &device->kernels, kernel, &a, slot->stream);
}

drv_result batch_gcm_before(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                            const struct slot *slot, const struct batch_layout *layout)
{
    drv_result r = launch(batch, slice, slot, layout, GCM_BATCH_POWERS_KERNEL, ENCRYPTION);
    for (int decrypts = 0; decrypts < 2 && r == DRV_SUCCESS; decrypts++)
        r = launch(batch, slice, slot, layout, GCM_BATCH_BEGIN_KERNEL, decrypts);
    if (r == DRV_SUCCESS)
        r = launch(batch, slice, slot, layout, GCM_BATCH_HASH_KERNEL, DECRYPTION);
    return r;
}

drv_result batch_gcm_after(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                           const struct slot *slot, const struct batch_layout *layout)
{
    drv_result r = launch(batch, slice, slot, layout, GCM_BATCH_HASH_KERNEL, ENCRYPTION);
    if (r == DRV_SUCCESS)
        r = launch(batch, slice, slot, layout, GCM_BATCH_CLEAR_KERNEL, DECRYPTION);
    return r;
}

/* ---- Results --------------------------------------------------------------------------- */

void batch_gcm_deliver(struct gpuaes_batch *batch, const struct batch_slice *slice,
                       const struct slot *slot, const struct batch_gcm_layout *layout)
{
    const unsigned char *tag = slot->staging + layout->results;
    const unsigned char *wrong = tag + results_bytes(layout->count[ENCRYPTION]);
    for (uint32_t i = slice->gcm_begin; i < slice->gcm_end; i++) {
        const struct batch_gcm *gcm = &batch->gcm[i];
        batch->done_bytes += gcm->device.rest;
        if (gcm->tag != NULL) {
            if (gcm->device.tag_bytes == GPUAES_BLOCK) /* no call */
                memcpy(gcm->tag, tag, GPUAES_BLOCK);
            else
                memcpy(gcm->tag, tag, gcm->device.tag_bytes);
            tag += GPUAES_BLOCK;
            continue;
        }
        if (*wrong != 0) {
            batch->status[batch->message[gcm->message].number] = GPUAES_BAD_TAG;
            if (batch->result < GPUAES_BAD_TAG)
                batch->result = GPUAES_BAD_TAG;
        }
        wrong += GPUAES_BLOCK;
    }
}
