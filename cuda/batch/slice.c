/*
 * The work of one slice of a batch on the device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/batch/batch.h"
#include "cuda/memory/host_copy.h"

/*
 * Blocks of a serial message that one launch encrypts: 9 to 15 ms on an H200. Others come in
 * between, and none takes so long that it counts as hanging.
 */
enum { STEP = 16384 };

struct slot *batch_slot(const struct gpuaes_batch *batch, uint32_t slice)
{
    return &batch->set->slots[slice % batch->slots];
}

struct batch_flight *batch_flight_of(struct gpuaes_batch *batch, uint32_t slice)
{
    return &batch->flight[slice % batch->slots];
}

/* ---- Copies ------------------------------------------------------------------------- */

/*
 * Copies of messages that lie side by side on both sides become one, if they are of
 * one allocation: the driver refuses what leaves that, though the next one may be pinned.
 */
struct copy {
    const struct driver *driver;
    drv_stream stream;
    int out;
    enum path path;
    unsigned char *host; /* pinned */
    drv_ptr device;
    size_t bytes;
};

static drv_result copy_now(struct copy *copy)
{
    const struct driver *d = copy->driver;
    size_t bytes = copy->bytes;
    copy->bytes = 0;
    if (bytes == 0)
        return DRV_SUCCESS;
    return copy->out ? d->memcpy_dtoh_async(copy->host, copy->device, bytes, copy->stream)
                     : d->memcpy_htod_async(copy->device, copy->host, bytes, copy->stream);
}

/* `joins`: it may follow what comes before it at `host`. */
static drv_result copy_more(struct copy *copy, enum path path, int joins, unsigned char *host,
                            drv_ptr device, size_t bytes)
{
    drv_result r = DRV_SUCCESS;
    if (!joins || copy->path != path || copy->host + copy->bytes != host ||
        copy->device + copy->bytes != device) {
        r = copy_now(copy);
        copy->path = path;
        copy->host = host;
        copy->device = device;
    }
    copy->bytes += bytes;
    return r;
}

/* Where a slice's staged messages begin. */
static unsigned char *staged(const struct batch_slice *slice, const struct slot *slot)
{
    return slot->staging + slice->plan;
}

static drv_result move(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                       const struct slot *slot, int out)
{
    struct copy copy = {.driver = batch->device->driver, .stream = slot->stream, .out = out};
    const int follows = out ? MESSAGE_FOLLOWS_OUT : MESSAGE_FOLLOWS_IN;
    drv_result r = DRV_SUCCESS;
    if (slice->buffer == 0)
        return r;
    for (uint32_t i = slice->begin; i < slice->end && r == DRV_SUCCESS; i++) {
        const struct batch_message *m = &batch->message[i];
        unsigned char *host = out ? m->out : (unsigned char *)(uintptr_t)m->in;
        enum path path = out ? m->out_path : m->in_path;
        if (path == PATH_ZERO_COPY)
            continue;
        if (path == PATH_STAGED) {
            host = staged(slice, slot) + m->staging;
            if (!out)
                host_copy(host, m->in, m->bytes, 0);
        }
        r = copy_more(&copy, path, path == PATH_STAGED || (m->flags & follows) != 0, host,
                      slot->buffer[0] + m->buffer, m->bytes);
    }
    return r == DRV_SUCCESS ? copy_now(&copy) : r;
}

/* ---- Kernels ----------------------------------------------------------------------------- */

/* What the first step has before the others. */
static drv_result expand_keys(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                              const struct slot *slot, const struct batch_layout *layout)
{
    struct device *device = batch->device;
    struct aes_batch_expand_arguments a = {.keys = slot->scratch + layout->keys,
                                           .schedules = slot->scratch + slice->plan,
                                           .count = layout->key_count};
    if (layout->key_count == 0)
        return DRV_SUCCESS;
    return kernels_launch_batch_expand(device->driver, &device->kernels, &a, slot->stream);
}

/* Group number `g`, the next step of it; `*chain` is where there is room for one. */
static drv_result launch_group(struct gpuaes_batch *batch, const struct batch_slice *slice,
                               const struct slot *slot, const struct batch_flight *flight, int g,
                               drv_ptr *chain)
{
    struct device *device = batch->device;
    const struct batch_group *group = &flight->layout.group[g];
    struct kernels_batch_kind kind = {
        .decrypts = g >= KEY_SIZES, .many = group->many, .key_size = (unsigned)(g % KEY_SIZES)};
    struct aes_batch_arguments a = {.messages = slot->scratch + group->messages,
                                    .first = slot->scratch + group->first,
                                    .keys = slot->scratch + slice->plan,
                                    .taken = slot->scratch + group->taken,
                                    .parallel = group->parallel,
                                    .serial = group->serial,
                                    .from = flight->from,
                                    .to = flight->from + STEP};
    if (group->blocks + group->serial == 0)
        return DRV_SUCCESS;
    if (!group->many) {
        const struct gpuaes_key *key = batch_keys_schedule(&batch->keys, group->key);
        memcpy(a.round_key, kind.decrypts ? key->decrypt : key->encrypt, sizeof a.round_key);
    }
    if (group->chained) {
        a.chain = *chain;
        *chain += (drv_ptr)kernels_batch_spans(&device->kernels, group->blocks) * GPUAES_BLOCK;
    }
    drv_result r = kernels_launch_batch(device->driver, &device->kernels, &kind, &a, group->blocks,
                                        slot->stream);
    gpuaes_cleanse(&a, sizeof a);
    return r;
}

/* What is left of a group once all of it has come so far: the longest first. */
static void pass_step(struct batch_group *group, const struct slot *slot, uint32_t from)
{
    group->messages += group->parallel * sizeof(struct aes_batch_message);
    group->parallel = group->blocks = 0;
    group->chained = 0;
    if (group->longest <= from)
        group->serial = 0;
    while (group->serial != 0) {
        struct aes_batch_message last;
        memcpy(&last, slot->staging + group->messages + (group->serial - 1) * sizeof last,
               sizeof last);
        if (last.blocks > from)
            break;
        group->serial--;
    }
}

/* 1 where there is another step. */
static int pass_steps(struct batch_flight *flight, const struct slot *slot)
{
    int more = 0;
    flight->from += STEP;
    for (int g = 0; g < BATCH_GROUPS; g++) {
        pass_step(&flight->layout.group[g], slot, flight->from);
        more |= flight->layout.group[g].serial != 0;
    }
    return more;
}

/* Those that were uploaded, and what was made of them: schedules, powers, masks of tags. */
static drv_result wipe_keys(struct slot *slot, const struct driver *driver,
                            const struct batch_slice *slice, const struct batch_layout *layout)
{
    /* Of GCM, messages too: the counter of a hashed IV tells the key of the hash. */
    drv_ptr begin = slot->scratch + (slice->powers != 0 ? 0 : layout->keys);
    size_t bytes = layout->bytes - layout->keys;
    drv_result r = slot_wipe_range(slot, driver, slot->staging_address + layout->keys, bytes);
    /* With what is between them: each call keeps kernels of other batches waiting. */
    drv_ptr end = slot->scratch + slice->plan + (size_t)layout->key_count * AES_BATCH_KEY_WORDS * 4;
    if (slice->powers != 0)
        end = slot->scratch + slice->plan + slice->schedules + slice->states +
              (size_t)layout->key_count * GCM_BATCH_POWERS * GPUAES_BLOCK;
    if (r == DRV_SUCCESS)
        r = slot_wipe_range(slot, driver, begin, end - begin);
    return r;
}

static void mark_done(struct gpuaes_batch *batch, const struct batch_slice *slice)
{
    uint32_t first = batch->message[slice->begin].number, count = slice->end - slice->begin;
    if (batch->message[slice->end - 1].number == first + count - 1) {
        memset(batch->status + first, GPUAES_OK, count); /* none between them was refused */
        return;
    }
    for (uint32_t i = slice->begin; i < slice->end; i++)
        batch->status[batch->message[i].number] = GPUAES_OK;
}

/* ---- One slice ------------------------------------------------------------------------ */

drv_result batch_slice_go_on(struct gpuaes_batch *batch, uint32_t number)
{
    const struct driver *d = batch->device->driver;
    const struct batch_slice *slice = &batch->slice[number];
    struct slot *slot = batch_slot(batch, number);
    struct batch_flight *flight = batch_flight_of(batch, number);
    drv_ptr chain = slot->scratch + slice->plan + slice->schedules + slice->states + slice->powers;
    int hashes = slice->gcm_begin != slice->gcm_end && flight->from == 0;
    drv_result r = hashes ? batch_gcm_before(batch, slice, slot, &flight->layout) : DRV_SUCCESS;
    for (int g = 0; g < BATCH_GROUPS && r == DRV_SUCCESS; g++)
        r = launch_group(batch, slice, slot, flight, g, &chain);
    if (r == DRV_SUCCESS && hashes)
        r = batch_gcm_after(batch, slice, slot, &flight->layout);
    int more = pass_steps(flight, slot);
    flight->copies_out = r == DRV_SUCCESS && !more;
    if (flight->copies_out)
        r = move(batch, slice, slot, 1);
    if (r == DRV_SUCCESS && !more && flight->layout.key_count != 0)
        r = wipe_keys(slot, d, slice, &flight->layout);
    if (r == DRV_SUCCESS)
        r = d->event_record(slot->event, slot->stream);
    flight->queued = r == DRV_SUCCESS && !more;
    return r;
}

drv_result batch_slice_begin(struct gpuaes_batch *batch, uint32_t number)
{
    const struct batch_slice *slice = &batch->slice[number];
    struct slot *slot = batch_slot(batch, number);
    struct batch_flight *flight = batch_flight_of(batch, number);
    struct batch_layout *layout = &flight->layout;
    flight->queued = flight->launched = flight->copies_out = 0;
    flight->from = 0;
    batch_lay_out(batch, slice, slot, layout);
    drv_result r = batch->device->driver->memcpy_htod_async(slot->scratch, slot->staging,
                                                            layout->bytes, slot->stream);
    if (r == DRV_SUCCESS)
        r = move(batch, slice, slot, 0);
    if (r == DRV_SUCCESS)
        r = expand_keys(batch, slice, slot, layout);
    flight->launched = r == DRV_SUCCESS;
    return r == DRV_SUCCESS ? batch_slice_go_on(batch, number) : r;
}

void batch_slice_deliver(struct gpuaes_batch *batch, uint32_t number)
{
    const struct batch_slice *slice = &batch->slice[number];
    const struct slot *slot = batch_slot(batch, number);
    for (uint32_t i = slice->begin; i < slice->end && slice->staging != 0; i++) {
        const struct batch_message *m = &batch->message[i];
        if (m->out_path == PATH_STAGED)
            host_copy(m->out, staged(slice, slot) + m->staging, m->bytes, 0);
    }
    mark_done(batch, slice);
    if (slice->gcm_begin != slice->gcm_end)
        batch_gcm_deliver(batch, slice, slot, &batch_flight_of(batch, number)->layout.gcm);
    batch->done_bytes += (uint64_t)slice->blocks * GPUAES_BLOCK;
}

/* ---- Wiping ------------------------------------------------------------------------------ */

/* The most that a slice had in the slot: of messages, and of keys in the scratch memory. */
static struct stream_set_needs find_traces(const struct gpuaes_batch *batch, uint32_t slot)
{
    struct stream_set_needs most = {0};
    for (uint32_t i = slot; i < batch->slices; i += batch->slots) {
        const struct batch_slice *slice = &batch->slice[i];
        raise_size(&most.buffer[0], slice->buffer);
        if (slice->staging != 0)
            raise_size(&most.staging, slice->plan + slice->staging);
        if (slice->schedules != 0)
            raise_size(&most.scratch,
                       slice->plan + slice->schedules + slice->states + slice->powers);
    }
    return most;
}

drv_result batch_wipe(const struct gpuaes_batch *batch, int failed)
{
    drv_result first = DRV_SUCCESS;
    for (uint32_t s = 0; s < batch->slots; s++) {
        struct stream_set_needs traces = find_traces(batch, s);
        if (!failed)
            traces.scratch = 0;
        drv_result r = slot_wipe(&batch->set->slots[s], batch->device->driver, &traces);
        first = first == DRV_SUCCESS ? r : first;
    }
    return first;
}
