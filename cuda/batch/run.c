/*
 * The way of a batch through the device, and what becomes of its messages when that
 * fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/clock.h"
#include "cuda/aes/gcm_check.h"
#include "cuda/batch/batch.h"
#include "cuda/process/fork.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"
#include "cuda/runtime/runtime.h"

/* ---- The end ----------------------------------------------------------------------------- */

static enum gpuaes_status end(struct gpuaes_batch *batch, int lost)
{
    statistics_add_bytes(batch->done_bytes);
    stream_set_return(batch->device, batch->set, lost);
    batch->set = NULL;
    batch->state = BATCH_DONE;
    runtime_unref();
    return batch->result;
}

/* Whether anything may have written to its `out`, as far as its slice has come. */
static int may_be_written(const struct batch_flight *flight, const struct batch_message *m)
{
    if (m->out_path == PATH_ZERO_COPY)
        return flight->launched;
    return m->out_path == PATH_DMA && flight->copies_out;
}

/* A slice that is not complete. */
static void give_up(struct gpuaes_batch *batch, const struct batch_slice *slice,
                    const struct batch_flight *flight, int still_running)
{
    for (uint32_t i = slice->begin; i < slice->end; i++) {
        const struct batch_message *m = &batch->message[i];
        int written = may_be_written(flight, m);
        enum gpuaes_status status =
            written && (still_running || m->in == m->out) ? GPUAES_UNDEFINED : GPUAES_FAULT;
        batch->status[m->number] = (unsigned char)status;
        if (status > batch->result)
            batch->result = status;
    }
}

/* What is under way may go on. */
static void give_up_rest(struct gpuaes_batch *batch)
{
    const struct batch_flight not_begun = {0};
    for (; batch->finished < batch->slices; batch->finished++) {
        int begun = batch->finished < batch->submitted;
        give_up(batch, &batch->slice[batch->finished],
                begun ? batch_flight_of(batch, batch->finished) : &not_begun, begun);
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
        const struct batch_flight *flight = batch_flight_of(batch, batch->finished);
        drv_result r =
            stream_set_wait(batch->device, batch->set, batch_slot(batch, batch->finished), NULL);
        lost |= r == DRV_NOT_READY;
        if (r == DRV_SUCCESS && flight->queued)
            batch_slice_deliver(batch, batch->finished);
        else
            give_up(batch, slice, flight, r == DRV_NOT_READY);
    }
    give_up_rest(batch);
    if (!lost) {
        (void)batch_wipe(batch, 1);
        stream_set_cleanse_staging(batch->device, batch->set);
    }
    return end(batch, lost);
}

/* ---- Under way -------------------------------------------------------------------------- */

/* As much of it as there are slots for, and what comes next of what is under way. */
static drv_result pump(struct gpuaes_batch *batch)
{
    const struct driver *d = batch->device->driver;
    drv_result r = DRV_SUCCESS;
    for (uint32_t i = batch->finished; i < batch->submitted && r == DRV_SUCCESS; i++) {
        if (batch_flight_of(batch, i)->queued)
            continue;
        r = d->event_query(batch_slot(batch, i)->event);
        if (r == DRV_SUCCESS) {
            batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
            r = batch_slice_go_on(batch, i);
        } else if (r == DRV_NOT_READY) {
            r = DRV_SUCCESS;
        }
    }
    while (r == DRV_SUCCESS && batch->submitted < batch->slices &&
           batch->submitted - batch->finished < batch->slots)
        r = batch_slice_begin(batch, batch->submitted++);
    return r;
}

/* Whether the oldest slice has come as far as was queued: DRV_NOT_READY also once the time is up.
 */
static drv_result look(struct gpuaes_batch *batch, int *expired)
{
    const struct driver *d = batch->device->driver;
    if (batch->set->follows) {
        drv_result r = d->event_query(batch->set->application);
        if (r != DRV_SUCCESS)
            return r;
        batch->set->follows = 0;
        batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
    }
    drv_event event = batch_slot(batch, batch->finished)->event;
    drv_result r = d->event_query(event);
    *expired = r == DRV_NOT_READY &&
               clock_ns(CLOCK_MONOTONIC) - batch->progress_ns > settings_timeout_ns();
    if (*expired) { /* or the process has been stopped since that query, and not the device */
        r = d->event_query(event);
        *expired = r == DRV_NOT_READY;
    }
    batch->set->timed_out |= *expired;
    return r;
}

static enum gpuaes_status go_on_entered(struct gpuaes_batch *batch, int wait)
{
    while (batch->finished < batch->slices) {
        const struct slot *slot = batch_slot(batch, batch->finished);
        int expired = wait;
        drv_result r = wait ? stream_set_wait(batch->device, batch->set, slot, slot->event)
                            : look(batch, &expired);
        if (r == DRV_SUCCESS && batch_flight_of(batch, batch->finished)->queued)
            batch_slice_deliver(batch, batch->finished++);
        int busy = r == DRV_NOT_READY && !expired;
        if (r == DRV_SUCCESS)
            batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
        if (r == DRV_SUCCESS || busy)
            r = pump(batch);
        if (r != DRV_SUCCESS)
            return fail(batch, "a copy or a kernel", r);
        if (busy)
            return GPUAES_BUSY;
    }
    drv_result r = batch_wipe(batch, 0);
    if (r != DRV_SUCCESS) {
        (void)device_fault(batch->device, "cuMemsetD8Async", r); /* the result itself is right */
        stream_set_cleanse_staging(batch->device, batch->set);
    }
    return end(batch, 0);
}

/* The context is gone, or soon will be, and with it all work in it and all means to learn more. */
static enum gpuaes_status abandon(struct gpuaes_batch *batch)
{
    give_up_rest(batch);
    return end(batch, 1);
}

/*
 * In any state of the devices: it holds what it works on, and another's fault may have ended
 * nothing of it. What fails once may be the report of another's fault.
 */
enum gpuaes_status batch_go_on(struct gpuaes_batch *batch, int wait)
{
    struct runtime_guard guard;
    if (batch->state == BATCH_DONE)
        return batch->result;
    if (fork_is_child())
        return GPUAES_NOT_READY;
    if (!runtime_reenter(&guard))
        return abandon(batch);
    enum gpuaes_status status;
    int entered = device_enter(batch->device);
    if (!entered)
        entered = device_enter(batch->device);
    if (entered) {
        status = go_on_entered(batch, wait);
        device_leave(batch->device);
    } else {
        status = abandon(batch);
    }
    runtime_leave(&guard);
    return status;
}

/* ---- Begin ---------------------------------------------------------------------------------- */

/* All that comes before the first slice: where memory is short here, nothing is broken. */
static drv_result prepare(struct gpuaes_batch *batch, struct stream_set_needs *needs)
{
    drv_result r = stream_set_prepare(batch->device, batch->set, needs);
    if (r == DRV_SUCCESS && batch->gcms != 0)
        r = gcm_check(batch->device, batch->set->slots[0].stream);
    if (r == DRV_SUCCESS && batch->on_device)
        r = stream_set_follow(batch->device, batch->set, needs->slots);
    return r;
}

static enum gpuaes_status begin_entered(struct gpuaes_batch *batch, unsigned flags)
{
    struct device *device = batch->device;
    struct stream_set_needs needs;
    if (!batch_cut(batch, device, &needs))
        return GPUAES_NO_MEMORY;
    batch->set = stream_set_take(device, STREAM_SET_BATCH, flags);
    if (batch->set == NULL)
        return stream_set_refusal(device);
    drv_result r = prepare(batch, &needs);
    int lost = r == DRV_NOT_READY;
    batch->slots = needs.slots;
    if (r != DRV_SUCCESS) {
        stream_set_return(device, batch->set, lost);
        batch->set = NULL;
        return device_fault(device, "preparing buffers", r);
    }
    runtime_ref(); /* until it is done */
    batch->state = BATCH_UNDER_WAY;
    batch->submitted = batch->finished = 0;
    batch->done_bytes = 0;
    batch->result = GPUAES_OK;
    batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
    r = pump(batch);
    return r == DRV_SUCCESS ? GPUAES_OK : fail(batch, "a copy or a kernel", r);
}

/*
 * The one that has its memory, or any. After an idle release it may be in use no more,
 * and a guest again only now.
 */
static enum gpuaes_status find_device(struct gpuaes_batch *batch)
{
    batch->device = NULL;
    if (batch->owner != NULL) {
        batch->device = runtime_device_of(batch->owner->info.ordinal);
        if (batch->device == NULL && atomic_load(&batch->owner->use) == DEVICE_LOST)
            return GPUAES_FAULT;
    } else {
        if (batch->managed != NULL)
            batch->device = runtime_device_of(batch->managed->info.ordinal);
        if (batch->device == NULL)
            batch->device = runtime_own_device();
    }
    return batch->device != NULL ? GPUAES_OK : GPUAES_NOT_READY;
}

enum gpuaes_status batch_begin(struct gpuaes_batch *batch, unsigned flags)
{
    struct runtime_guard guard;
    if (!runtime_enter(&guard))
        return gpuaes_state() == GPUAES_FAILED && !fork_is_child() ? GPUAES_FAULT
                                                                   : GPUAES_NOT_READY;
    enum gpuaes_status status = find_device(batch);
    if (status == GPUAES_OK && !device_enter(batch->device)) {
        status = GPUAES_FAULT;
    } else if (status == GPUAES_OK) {
        status = begin_entered(batch, flags);
        device_leave(batch->device);
    }
    runtime_leave(&guard);
    return status;
}
