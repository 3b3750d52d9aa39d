/*
 * The way of a batch through the device, and what becomes of its messages when that
 * fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>
#include <time.h>

#include "batch.h"
#include "fork.h"
#include "host_copy.h"
#include "life.h"
#include "statistics.h"

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct slot *slot_of(const struct gpuaes_batch *batch, uint32_t slice)
{
    return &batch->lane->slots[slice % LANE_SLOTS];
}

/* ---- Copies ------------------------------------------------------------------------- */

/* Copies of messages that lie side by side on both sides become one. */
struct copy {
    const struct driver *driver;
    drv_stream stream;
    int out;
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

static drv_result copy_more(struct copy *copy, unsigned char *host, drv_ptr device, size_t bytes)
{
    drv_result r = DRV_SUCCESS;
    if (copy->bytes == 0 || copy->host + copy->bytes != host ||
        copy->device + copy->bytes != device) {
        r = copy_now(copy);
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
    struct batch_place place = {0, 0};
    drv_result r = DRV_SUCCESS;
    if (slice->buffer == 0)
        return r;
    for (uint32_t i = slice->begin; i < slice->end && r == DRV_SUCCESS; i++) {
        const struct batch_message *m = &batch->message[i];
        size_t bytes = (size_t)m->blocks * GPUAES_BLOCK;
        unsigned char *host = out ? m->out : (unsigned char *)(uintptr_t)m->in;
        switch (batch_route(batch, m, out ? m->out_kind : m->in_kind)) {
        case BATCH_STAGED:
            host = staged(slice, slot) + place.staging;
            if (!out)
                host_copy(host, m->in, bytes, 0);
            /* fall through */
        case BATCH_DMA:
            r = copy_more(&copy, host, slot->buffer[0] + place.buffer, bytes);
            break;
        case BATCH_DIRECT:
            break;
        }
        batch_next_place(batch, m, &place);
    }
    return r == DRV_SUCCESS ? copy_now(&copy) : r;
}

static drv_result wipe(struct slot *slot, const struct driver *driver, drv_ptr p, size_t bytes)
{
    if (bytes == 0)
        return DRV_SUCCESS;
    slot->wiping = 1;
    return driver->memset_d8_async(p, 0, bytes, slot->stream);
}

/* ---- One slice ------------------------------------------------------------------------ */

static drv_result launch_groups(struct gpuaes_batch *batch, const struct batch_slice *slice,
                                const struct slot *slot, const struct batch_layout *layout)
{
    struct device *device = batch->device;
    drv_ptr schedules = slot->scratch + slice->plan, chain = schedules + slice->schedules;
    drv_result r = DRV_SUCCESS;
    if (layout->key_count != 0) {
        struct aes_batch_expand_arguments a = {.keys = slot->scratch + layout->keys,
                                               .schedules = schedules,
                                               .count = layout->key_count};
        r = kernels_launch_batch_expand(device->driver, &device->kernels, &a, slot->stream);
    }
    for (int g = 0; g < BATCH_GROUPS && r == DRV_SUCCESS; g++) {
        const struct batch_group *group = &layout->group[g];
        struct kernels_batch_kind kind = {g >= KEY_SIZES, group->many,
                                          10 + 2 * (unsigned)(g % KEY_SIZES)};
        struct aes_batch_arguments a = {.messages = slot->scratch + group->messages,
                                        .first = slot->scratch + group->first,
                                        .keys = schedules,
                                        .taken = slot->scratch + group->taken,
                                        .parallel = group->parallel,
                                        .serial = group->serial};
        if (group->parallel + group->serial == 0)
            continue;
        if (!group->many) {
            const struct gpuaes_key *key = batch_keys_schedule(&batch->keys, group->key);
            memcpy(a.round_key, kind.decrypts ? key->decrypt : key->encrypt, sizeof a.round_key);
        }
        if (group->chained) {
            a.chain = chain;
            chain += (drv_ptr)kernels_batch_spans(&device->kernels, group->blocks) * GPUAES_BLOCK;
        }
        r = kernels_launch_batch(device->driver, &device->kernels, &kind, &a, group->blocks,
                                 slot->stream);
        gpuaes_cleanse(&a, sizeof a);
    }
    return r;
}

/* Those that were uploaded, and what was made of them. */
static drv_result wipe_keys(struct slot *slot, const struct driver *driver,
                            const struct batch_slice *slice, const struct batch_layout *layout)
{
    size_t bytes = layout->bytes - layout->keys;
    drv_result r = wipe(slot, driver, slot->staging_address + layout->keys, bytes);
    if (r == DRV_SUCCESS)
        r = wipe(slot, driver, slot->scratch + layout->keys, bytes);
    if (r == DRV_SUCCESS)
        r = wipe(slot, driver, slot->scratch + slice->plan,
                 (size_t)layout->key_count * AES_BATCH_KEY_WORDS * 4);
    return r;
}

static drv_result submit(struct gpuaes_batch *batch)
{
    const struct driver *d = batch->device->driver;
    const struct batch_slice *slice = &batch->slice[batch->submitted];
    struct slot *slot = slot_of(batch, batch->submitted);
    struct batch_flight *flight = &batch->flight[batch->submitted % LANE_SLOTS];
    struct batch_layout layout;
    *flight = (struct batch_flight){0, 0};
    batch->submitted++;
    batch_lay_out(batch, slice, slot, &layout);
    drv_result r = d->memcpy_htod_async(slot->scratch, slot->staging, layout.bytes, slot->stream);
    if (r == DRV_SUCCESS)
        r = move(batch, slice, slot, 0);
    if (r != DRV_SUCCESS)
        return r;
    flight->writes_out = 1;
    r = launch_groups(batch, slice, slot, &layout);
    if (r == DRV_SUCCESS)
        r = move(batch, slice, slot, 1);
    if (r == DRV_SUCCESS && layout.key_count != 0)
        r = wipe_keys(slot, d, slice, &layout);
    if (r == DRV_SUCCESS)
        r = d->event_record(slot->event, slot->stream);
    flight->queued = r == DRV_SUCCESS;
    return r;
}

/* All of a slice's work is done. */
static void deliver(struct gpuaes_batch *batch, const struct batch_slice *slice, struct slot *slot)
{
    struct batch_place place = {0, 0};
    for (uint32_t i = slice->begin; i < slice->end; i++) {
        const struct batch_message *m = &batch->message[i];
        size_t bytes = (size_t)m->blocks * GPUAES_BLOCK;
        if (batch_route(batch, m, m->out_kind) == BATCH_STAGED)
            host_copy(m->out, staged(slice, slot) + place.staging, bytes, 0);
        if (slice->staging != 0)
            batch_next_place(batch, m, &place);
        batch->status[m->number] = GPUAES_OK;
        batch->done_bytes += bytes;
    }
}

/* ---- The end ----------------------------------------------------------------------------- */

static enum gpuaes_status end(struct gpuaes_batch *batch, int lost)
{
    statistics_add_bytes(batch->done_bytes);
    lane_return(batch->device, batch->lane, lost);
    batch->lane = NULL;
    batch->state = BATCH_DONE;
    life_unhold();
    return batch->result;
}

/* Wipes what the slots hold of the messages; queued, not waited for. */
static drv_result wipe_all(const struct gpuaes_batch *batch)
{
    const struct driver *d = batch->device->driver;
    drv_result r = DRV_SUCCESS;
    for (uint32_t s = 0; s < LANE_SLOTS && s < batch->slices; s++) {
        struct slot *slot = &batch->lane->slots[s];
        size_t buffer = 0, staging = 0;
        for (uint32_t i = s; i < batch->slices; i += LANE_SLOTS) {
            const struct batch_slice *slice = &batch->slice[i];
            if (slice->buffer > buffer)
                buffer = slice->buffer;
            if (slice->staging != 0 && slice->plan + slice->staging > staging)
                staging = slice->plan + slice->staging;
        }
        if (r == DRV_SUCCESS)
            r = wipe(slot, d, slot->buffer[0], buffer);
        if (r == DRV_SUCCESS)
            r = wipe(slot, d, slot->staging_address, staging);
    }
    return r;
}

/* A slice that is not complete. */
static void give_up(struct gpuaes_batch *batch, const struct batch_slice *slice, int writes_out,
                    int still_running)
{
    for (uint32_t i = slice->begin; i < slice->end; i++) {
        const struct batch_message *m = &batch->message[i];
        int written = writes_out && batch_route(batch, m, m->out_kind) != BATCH_STAGED;
        enum gpuaes_status status =
            written && (still_running || m->in == m->out) ? GPUAES_UNDEFINED : GPUAES_FAULT;
        batch->status[m->number] = (unsigned char)status;
        if (status > batch->result)
            batch->result = status;
    }
}

/* One timeout for all waits: a device that hangs does so on every stream. */
static drv_result wait_for(struct gpuaes_batch *batch, const struct slot *slot, drv_event event)
{
    const struct driver *d = batch->device->driver;
    if (batch->timed_out)
        return event != NULL ? d->event_query(event) : d->stream_query(slot->stream);
    drv_result r = DRV_SUCCESS;
    if (batch->follows)
        r = device_wait_for_application(batch->device, batch->lane->application);
    batch->follows = 0;
    if (r == DRV_SUCCESS)
        r = device_wait(batch->device, slot->stream, event);
    batch->timed_out = r == DRV_NOT_READY;
    return r;
}

static void cleanse_staging(const struct gpuaes_batch *batch)
{
    for (unsigned i = 0; i < LANE_SLOTS; i++) {
        const struct slot *slot = &batch->lane->slots[i];
        if (slot->staging != NULL)
            gpuaes_cleanse(slot->staging, slot->staging_bytes);
    }
}

/*
 * After an error: waits until the device does nothing more for us, and finds out what
 * it did.
 */
static enum gpuaes_status fail(struct gpuaes_batch *batch, const char *what, drv_result result)
{
    int lost = 0;
    (void)device_fault(batch->device, what, result == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : result);
    for (; batch->finished < batch->submitted; batch->finished++) {
        const struct batch_slice *slice = &batch->slice[batch->finished];
        const struct batch_flight *flight = &batch->flight[batch->finished % LANE_SLOTS];
        struct slot *slot = slot_of(batch, batch->finished);
        drv_result r = wait_for(batch, slot, NULL);
        lost |= r == DRV_NOT_READY;
        if (r == DRV_SUCCESS && flight->queued)
            deliver(batch, slice, slot);
        else
            give_up(batch, slice, flight->writes_out, r == DRV_NOT_READY);
    }
    for (; batch->finished < batch->slices; batch->finished++)
        give_up(batch, &batch->slice[batch->finished], 0, 0);
    if (!lost) {
        (void)wipe_all(batch);
        cleanse_staging(batch);
    }
    return end(batch, lost);
}

/* ---- Under way -------------------------------------------------------------------------- */

static enum gpuaes_status pump(struct gpuaes_batch *batch)
{
    while (batch->submitted < batch->slices && batch->submitted - batch->finished < LANE_SLOTS) {
        drv_result r = submit(batch);
        if (r != DRV_SUCCESS)
            return fail(batch, "a copy or a kernel", r);
    }
    return GPUAES_BUSY;
}

/* Whether the oldest slice is done: DRV_NOT_READY also once the time is up. */
static drv_result look(struct gpuaes_batch *batch, int *expired)
{
    const struct driver *d = batch->device->driver;
    if (batch->follows) {
        drv_result r = d->event_query(batch->lane->application);
        if (r != DRV_SUCCESS)
            return r;
        batch->follows = 0;
        batch->progress_ns = now_ns();
    }
    drv_result r = d->event_query(slot_of(batch, batch->finished)->event);
    *expired = r == DRV_NOT_READY &&
               now_ns() - batch->progress_ns > (int64_t)life_settings()->timeout_ms * 1000000;
    batch->timed_out |= *expired;
    return r;
}

static enum gpuaes_status go_on_entered(struct gpuaes_batch *batch, int wait)
{
    while (batch->finished < batch->slices) {
        struct slot *slot = slot_of(batch, batch->finished);
        int expired = wait;
        drv_result r = wait ? wait_for(batch, slot, slot->event) : look(batch, &expired);
        if (r == DRV_NOT_READY && !expired)
            return GPUAES_BUSY;
        if (r != DRV_SUCCESS)
            return fail(batch, "a copy or a kernel", r);
        deliver(batch, &batch->slice[batch->finished], slot);
        batch->finished++;
        batch->progress_ns = now_ns();
        enum gpuaes_status status = pump(batch);
        if (status != GPUAES_BUSY)
            return status;
    }
    drv_result r = wipe_all(batch);
    if (r != DRV_SUCCESS) {
        (void)device_fault(batch->device, "cuMemsetD8Async", r); /* the result itself is right */
        cleanse_staging(batch);
    }
    return end(batch, 0);
}

/* The device is gone, and with it all means to learn more. */
static enum gpuaes_status abandon(struct gpuaes_batch *batch)
{
    for (; batch->finished < batch->slices; batch->finished++) {
        const struct batch_flight *flight = &batch->flight[batch->finished % LANE_SLOTS];
        int begun = batch->finished < batch->submitted;
        give_up(batch, &batch->slice[batch->finished], begun && flight->writes_out, begun);
    }
    return end(batch, 1);
}

enum gpuaes_status batch_go_on(struct gpuaes_batch *batch, int wait)
{
    struct visit visit;
    if (batch->state == BATCH_DONE)
        return batch->result;
    if (fork_is_child())
        return GPUAES_NOT_READY;
    if (!life_enter(&visit))
        return abandon(batch);
    enum gpuaes_status status;
    if (device_enter(batch->device)) {
        status = go_on_entered(batch, wait);
        device_leave(batch->device);
    } else {
        status = abandon(batch);
    }
    life_leave(&visit);
    return status;
}

/* ---- Begin ---------------------------------------------------------------------------------- */

/* Work on device memory comes after what the application put on the legacy stream. */
static drv_result follow_legacy_stream(struct gpuaes_batch *batch, unsigned slots)
{
    const struct driver *d = batch->device->driver;
    struct lane *lane = batch->lane;
    drv_result r = DRV_SUCCESS;
    batch->follows = 0;
    if (!batch->on_device)
        return r;
    if (lane->application == NULL)
        r = d->event_create(&lane->application, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS)
        r = d->event_record(lane->application, DRV_STREAM_LEGACY);
    for (unsigned i = 0; i < slots && r == DRV_SUCCESS; i++)
        r = d->stream_wait_event(lane->slots[i].stream, lane->application, 0);
    batch->follows = r == DRV_SUCCESS;
    return r;
}

static enum gpuaes_status begin_entered(struct gpuaes_batch *batch, unsigned flags)
{
    struct device *device = batch->device;
    struct lane_needs needs;
    if (!batch_cut(batch, device, &needs))
        return GPUAES_NO_MEMORY;
    batch->lane = lane_take(device, flags);
    if (batch->lane == NULL)
        return GPUAES_BUSY;
    drv_result r = lane_prepare(device, batch->lane, &needs);
    int lost = r == DRV_NOT_READY;
    if (r == DRV_SUCCESS)
        r = follow_legacy_stream(batch, needs.slots);
    if (r != DRV_SUCCESS) {
        lane_return(device, batch->lane, lost);
        batch->lane = NULL;
        return device_fault(device, "preparing buffers", r);
    }
    life_hold(); /* until it is done */
    batch->state = BATCH_UNDER_WAY;
    batch->submitted = batch->finished = 0;
    batch->timed_out = 0;
    batch->done_bytes = 0;
    batch->result = GPUAES_OK;
    batch->progress_ns = now_ns();
    return pump(batch);
}

/* The one that has its memory, or any. */
static struct device *find_device(const struct gpuaes_batch *batch)
{
    if (batch->owner == NULL)
        return life_own_device();
    int use = atomic_load(&batch->owner->use);
    return use == DEVICE_IN_USE || use == DEVICE_GUEST ? batch->owner : NULL;
}

enum gpuaes_status batch_begin(struct gpuaes_batch *batch, unsigned flags)
{
    struct visit visit;
    enum gpuaes_status status = GPUAES_NOT_READY;
    if (!life_enter(&visit))
        return status;
    batch->device = find_device(batch);
    if (batch->device != NULL) {
        status = GPUAES_FAULT;
        if (device_enter(batch->device)) {
            status = begin_entered(batch, flags);
            device_leave(batch->device);
        }
    }
    life_leave(&visit);
    return status;
}
