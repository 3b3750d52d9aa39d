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

static size_t blocks_of(size_t bytes)
{
    return (bytes + GPUAES_BLOCK - 1) / GPUAES_BLOCK;
}

/* Bytes of an IV that is hashed. */
static size_t hashed_iv(const struct gpuaes_message *m)
{
    return m->iv_bytes == IV_BYTES ? 0 : m->iv_bytes;
}

int batch_gcm_has_room(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    size_t data_blocks = blocks_of(hashed_iv(m)) + blocks_of(m->aad_bytes);
    if (batch->gcms == batch->gcm_room) {
        uint32_t room = batch->gcm_room == 0 ? FIRST_ROOM : batch->gcm_room * 2;
        struct batch_gcm *grown = realloc(batch->gcm, room * sizeof *grown);
        if (grown == NULL)
            return 0;
        batch->gcm = grown;
        batch->gcm_room = room;
    }
    if (data_blocks > batch->data_room - batch->data_blocks) {
        size_t room = (batch->data_blocks + data_blocks) * 2;
        unsigned char *grown = realloc(batch->data, room * GPUAES_BLOCK);
        if (grown == NULL)
            return 0;
        batch->data = grown;
        batch->data_room = room;
    }
    return 1;
}

/* Padded. */
static void add_data(struct gpuaes_batch *batch, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    unsigned char *to = batch->data + batch->data_blocks * GPUAES_BLOCK;
    batch->data_blocks += blocks_of(bytes);
    memset(batch->data + (batch->data_blocks - 1) * GPUAES_BLOCK, 0, GPUAES_BLOCK);
    memcpy(to, data, bytes);
}

void batch_gcm_counter(const struct gpuaes_message *m, unsigned char counter[GPUAES_BLOCK])
{
    memset(counter, 0, GPUAES_BLOCK);
    if (m->iv_bytes != IV_BYTES)
        return;
    memcpy(counter, m->iv, IV_BYTES);
    counter[GPUAES_BLOCK - 1] = 2;
}

void batch_gcm_add(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    struct batch_message *message = &batch->message[batch->messages - 1];
    struct batch_gcm *gcm = &batch->gcm[batch->gcms++];
    message->flags |= (unsigned char)(MESSAGE_HASHED | (m->len % GPUAES_BLOCK) << MESSAGE_REST);
    memset(gcm, 0, sizeof *gcm);
    gcm->data = batch->data_blocks;
    gcm->iv_bytes = (uint32_t)hashed_iv(m);
    gcm->aad_bytes = (uint32_t)m->aad_bytes;
    gcm->tag_bytes = (uint32_t)m->tag_bytes;
    gcm->message = batch->messages - 1;
    if (m->op == GPUAES_GCM_ENCRYPT)
        gcm->tag = m->tag;
    else
        memcpy(gcm->expected, m->tag, m->tag_bytes);
    add_data(batch, m->iv, hashed_iv(m));
    add_data(batch, m->aad, m->aad_bytes);
}

/* ---- Layout -------------------------------------------------------------------------- */

/* Where the data of message `n`, which may be behind the last one, begins. */
static size_t data_of(const struct gpuaes_batch *batch, uint32_t n)
{
    return n == batch->gcms ? batch->data_blocks : batch->gcm[n].data;
}

/* Blocks that are hashed: additional data, text, lengths. */
static uint32_t hashed_blocks(const struct gpuaes_batch *batch, const struct batch_gcm *gcm)
{
    size_t text = message_bytes(&batch->message[gcm->message]);
    return (uint32_t)(blocks_of(gcm->aad_bytes) + blocks_of(text) + 1);
}

static size_t first_bytes(size_t count)
{
    return round_up((count + 2) * sizeof(uint32_t), GPUAES_BLOCK);
}

static size_t results_bytes(size_t count)
{
    return count * GPUAES_BLOCK;
}

size_t batch_gcm_plan_bytes(const struct gpuaes_batch *batch, uint32_t begin, uint32_t end)
{
    size_t count = end - begin, data = data_of(batch, end) - data_of(batch, begin);
    return count * sizeof(struct gcm_batch_message) + first_bytes(count) + data * GPUAES_BLOCK +
           results_bytes(count);
}

/* Counts those of each direction. Returns the blocks of the longest one. */
static uint32_t count(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                      struct batch_gcm_layout *layout, uint32_t *blocks)
{
    uint32_t longest = 0;
    for (uint32_t i = slice->gcm_begin; i < slice->gcm_end; i++) {
        uint32_t hashed = hashed_blocks(batch, &batch->gcm[i]);
        layout->count[batch->gcm[i].tag == NULL]++;
        longest = hashed > longest ? hashed : longest;
        *blocks += hashed;
    }
    return longest;
}

static void place_chunks(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                         unsigned char *plan, struct batch_gcm_layout *layout, uint32_t each)
{
    uint32_t *first[2] = {(uint32_t *)(plan + layout->first[ENCRYPTION]),
                          (uint32_t *)(plan + layout->first[DECRYPTION])};
    for (uint32_t i = slice->gcm_begin; i < slice->gcm_end; i++) {
        const struct batch_gcm *gcm = &batch->gcm[i];
        int decrypts = gcm->tag == NULL;
        *first[decrypts]++ = layout->chunks[decrypts];
        layout->chunks[decrypts] += (hashed_blocks(batch, gcm) + each - 1) / each;
    }
    for (int decrypts = 0; decrypts < 2; decrypts++)
        *first[decrypts] = layout->chunks[decrypts];
}

size_t batch_gcm_place(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                       unsigned char *plan, size_t at, struct batch_gcm_layout *layout)
{
    size_t messages = slice->gcm_end - slice->gcm_begin, begin = data_of(batch, slice->gcm_begin);
    size_t data = data_of(batch, slice->gcm_end) - begin;
    uint32_t blocks = 0;
    memset(layout, 0, sizeof *layout);
    uint32_t longest = count(batch, slice, layout, &blocks);
    for (layout->levels = LEVELS_LEAST; longest >> layout->levels != 0;)
        layout->levels++;
    layout->messages[ENCRYPTION] = at;
    layout->messages[DECRYPTION] =
        at + layout->count[ENCRYPTION] * sizeof(struct gcm_batch_message);
    layout->first[ENCRYPTION] = at + messages * sizeof(struct gcm_batch_message);
    layout->first[DECRYPTION] =
        layout->first[ENCRYPTION] + (layout->count[ENCRYPTION] + 1) * sizeof(uint32_t);
    layout->data = layout->first[ENCRYPTION] + first_bytes(messages);
    layout->results = slice->plan - results_bytes(messages);
    place_chunks(batch, slice, plan, layout,
                 kernels_gcm_batch_chunk(&batch->device->kernels, blocks));
    if (data != 0)
        memcpy(plan + layout->data, batch->data + begin * GPUAES_BLOCK, data * GPUAES_BLOCK);
    return layout->data + data * GPUAES_BLOCK;
}

struct gcm_batch_message batch_gcm_message(const struct gpuaes_batch *batch,
                                           const struct batch_slice *slice, uint32_t n,
                                           const struct aes_batch_message *device, uint32_t key)
{
    const struct batch_gcm *gcm = &batch->gcm[n];
    const struct batch_message *m = &batch->message[gcm->message];
    struct gcm_batch_message to = {
        .in = device->in,
        .out = device->out,
        .blocks = device->blocks,
        .rest = m->flags >> MESSAGE_REST,
        .data = (uint32_t)(gcm->data - data_of(batch, slice->gcm_begin)),
        .aad_bytes = gcm->aad_bytes,
        .iv_bytes = gcm->iv_bytes,
        .tag_bytes = gcm->tag_bytes,
        .key = key,
        .rounds = batch->keys.key[m->device.key].rounds,
    };
    memcpy(to.counter, device->iv, IV_BYTES);
    to.counter[3] = __builtin_bswap32(1);
    memcpy(to.tag, gcm->expected, sizeof to.tag);
    return to;
}

/* ---- Kernels -------------------------------------------------------------------------- */

static drv_result launch(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                         const struct slot *slot, const struct batch_layout *layout,
                         enum gcm_batch_kernel kernel, int decrypts)
{
    const struct batch_gcm_layout *gcm = &layout->gcm;
    struct device *device = batch->device;
    size_t results = gcm->results + (decrypts ? results_bytes(gcm->count[ENCRYPTION]) : 0);
    struct gcm_batch_arguments a = {
        .messages = slot->scratch + gcm->messages[decrypts],
        .first = slot->scratch + gcm->first[decrypts],
        .data = slot->scratch + gcm->data,
        .schedules = slot->scratch + slice->plan,
        .powers = slot->scratch + slice->plan + slice->schedules,
        .keys = slot->scratch + layout->keys,
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
        const struct batch_message *m = &batch->message[gcm->message];
        batch->done_bytes += m->flags >> MESSAGE_REST;
        if (gcm->tag != NULL) {
            memcpy(gcm->tag, tag, gcm->tag_bytes);
            tag += GPUAES_BLOCK;
            continue;
        }
        if (*wrong != 0) {
            batch->status[m->number] = GPUAES_BAD_TAG;
            if (batch->result < GPUAES_BAD_TAG)
                batch->result = GPUAES_BAD_TAG;
        }
        wrong += GPUAES_BLOCK;
    }
}
