/*
 * The pipeline of pieces, and what becomes of them when the device fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/transfer.h"

#include <string.h>

#include "base/minmax.h"

static struct slot *slot_of(const struct transfer *t, size_t number)
{
    return &t->set->slots[number % t->slots];
}

/* ---- One piece ----------------------------------------------------------------- */

/* Queues the next piece. */
static drv_result submit(struct transfer *t)
{
    const struct driver *d = t->shard->device->driver;
    struct slot *slot = slot_of(t, t->submitted);
    struct piece *piece = &t->piece[t->submitted % t->slots];
    size_t units = t->piece_units, before = t->submitted++ * units;
    *piece = (struct piece){.in_at = before * t->job->in_unit, .out_at = before * t->job->out_unit};
    piece->in_bytes = min_u64(t->in_bytes - piece->in_at, units * t->job->in_unit);
    piece->out_bytes = min_u64(t->out_bytes - piece->out_at, units * t->job->out_unit);
    drv_ptr in, out = slot->buffer[t->out_in_second];
    drv_result r = path_move_in(t, slot, piece, &in);
    if (r != DRV_SUCCESS)
        return r;
    if (t->out_path == PATH_ZERO_COPY)
        out = t->out_address + piece->out_at;
    else if (t->out_path == PATH_STAGED)
        out = slot->staging_address;
    piece->writes_out = t->out_path == PATH_ZERO_COPY;
    r = t->job->transform->launch(t, slot, piece, in, out);
    if (r == DRV_SUCCESS && t->out_path == PATH_DMA) {
        piece->writes_out = 1;
        r = d->memcpy_dtoh_async(t->out + piece->out_at, out, piece->out_bytes, slot->stream);
    }
    /* The one piece of small work is waited for by its stream. */
    if (r == DRV_SUCCESS && t->pieces > 1)
        r = d->event_record(slot->event, slot->stream);
    piece->queued = r == DRV_SUCCESS;
    return r;
}

/* Of the oldest piece under way, which is done. */
static enum gpuaes_status deliver(struct transfer *t)
{
    const struct slot *slot = slot_of(t, t->finished);
    const struct piece *piece = &t->piece[t->finished % t->slots];
    const struct transform *transform = t->job->transform;
    path_deliver(t, slot, piece);
    enum gpuaes_status status = GPUAES_OK;
    if (transform->finished != NULL)
        status = transform->finished(t, slot, piece);
    if (status == GPUAES_OK)
        t->shard->done =
            (size_t)(t->in - t->job->in) - t->shard->at + piece->in_at + piece->in_bytes;
    return status;
}

/* ---- The pipeline --------------------------------------------------------------- */

/* Waits for the oldest piece under way and delivers it. */
static drv_result finish_oldest(struct transfer *t, enum gpuaes_status *status)
{
    const struct slot *slot = slot_of(t, t->finished);
    drv_result r =
        stream_set_wait(t->shard->device, t->set, slot, t->pieces > 1 ? slot->event : NULL);
    if (r != DRV_SUCCESS)
        return r;
    *status = deliver(t);
    t->finished++;
    return r;
}

/*
 * After an error: waits until the device does nothing more for us, and finds
 * out what it did. Pieces that completed in order count; of the others nothing
 * may have been written where the caller's input was.
 */
static enum gpuaes_status drain(struct transfer *t, enum gpuaes_status status, int *lost)
{
    int in_place = t->in == t->out, in_order = 1, undefined = 0;
    for (; t->finished < t->submitted; t->finished++) {
        const struct piece *piece = &t->piece[t->finished % t->slots];
        drv_result r = stream_set_wait(t->shard->device, t->set, slot_of(t, t->finished), NULL);
        if (r == DRV_NOT_READY) {
            /* It may yet write: neither our memory nor the caller's is safe. */
            *lost = 1;
            undefined |= piece->writes_out;
        }
        in_order = in_order && r == DRV_SUCCESS && piece->queued && status == GPUAES_FAULT &&
                   deliver(t) == GPUAES_OK;
        if (!in_order)
            undefined |= in_place && piece->writes_out;
    }
    return undefined ? GPUAES_UNDEFINED : status;
}

/* Wipes what the stream set's buffers held of this work; queued, not waited for. */
static drv_result wipe(const struct transfer *t, struct stream_set_needs needs)
{
    drv_result first = DRV_SUCCESS;
    needs.staging = t->staging;
    needs.scratch = 0;
    for (unsigned i = 0; i < t->slots; i++) {
        drv_result r = slot_wipe(&t->set->slots[i], t->shard->device->driver, &needs);
        first = first == DRV_SUCCESS ? r : first;
    }
    return first;
}

/*
 * After the last piece, or a failure of `what`: leaves no data in the stream set, and gives it
 * back.
 */
static enum gpuaes_status end(struct transfer *t, const struct stream_set_needs *needs,
                              enum gpuaes_status status, const char *what, drv_result r)
{
    struct device *device = t->shard->device;
    const int begun = t->submitted != 0;
    int lost = !begun && r == DRV_NOT_READY;
    /* Short memory in mid-work is a fault like any other. */
    if (r != DRV_SUCCESS)
        status = device_fault(device, what, begun && r == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : r);
    if (status != GPUAES_OK)
        status = drain(t, status, &lost);
    int failed = status == GPUAES_FAULT || status == GPUAES_UNDEFINED;
    /* Where preparing failed, buffers may be smaller than those that were wanted. */
    if (!lost && begun && (r = wipe(t, *needs)) != DRV_SUCCESS) {
        (void)device_fault(device, "cuMemsetD8Async", r); /* the result itself is right */
        failed = 1;
    }
    if (!lost && failed)
        stream_set_cleanse_staging(device, t->set);
    stream_set_return(device, t->set, lost);
    return status;
}

enum gpuaes_status transfer_run(const struct job *job, struct shard *shard)
{
    size_t at = shard->at + shard->done, end_at = shard->at + shard->bytes;
    size_t out_at = at / job->in_unit * job->out_unit;
    size_t out_end =
        end_at == job->in_bytes ? job->out_bytes : end_at / job->in_unit * job->out_unit;
    struct transfer t = {.job = job,
                         .shard = shard,
                         .in = job->in + at,
                         .out = job->out + out_at,
                         .in_address = job->in_memory.address + at,
                         .out_address = job->out_memory.address + out_at,
                         .in_bytes = end_at - at,
                         .out_bytes = out_end - out_at};
    struct stream_set_needs needs;
    memcpy(t.iv, shard->iv, sizeof t.iv);
    t.set = stream_set_take(shard->device, STREAM_SET_CALL, job->flags);
    if (t.set == NULL)
        return stream_set_refusal(shard->device);
    enum gpuaes_status status = GPUAES_OK;
    const char *what = "preparing buffers";
    path_plan(&t, &needs);
    drv_result r = stream_set_prepare(shard->device, t.set, &needs, job_is_on_device(job));
    t.slots = needs.slots;
    while (r == DRV_SUCCESS && status == GPUAES_OK && t.finished < t.pieces) {
        what = "a copy or a kernel";
        if (t.submitted < t.pieces && t.submitted - t.finished < t.slots)
            r = submit(&t);
        else
            r = finish_oldest(&t, &status);
    }
    status = end(&t, &needs, status, what, r);
    gpuaes_cleanse(&t, sizeof t);
    return status;
}
