/*
 * The pipeline of pieces, and what becomes of them when the device fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/transfer.h"

#include <string.h>

#include "base/minmax.h"
#include "cuda/process/statistics.h"
#include "cuda/transfer/path.h"

/* What becomes of a piece that is under way. */
struct flight {
    struct piece piece;
    int writes_out; /* a write to the caller's output has been queued */
    int queued;     /* all of its work has been */
};

struct run {
    struct device *device;
    struct stream_set *set;
    struct transfer *t;
    struct paths paths;
    struct flight flights[STREAM_SET_SLOTS];
    size_t submitted, finished, pieces;
    unsigned slots;
};

static struct piece piece_at(const struct run *run, size_t number)
{
    const struct transfer *t = run->t;
    struct piece p = {.number = number};
    size_t units = run->paths.piece_units, before = number * units;
    size_t in = units * t->in_unit, out = units * t->out_unit;
    p.in_at = before * t->in_unit;
    p.out_at = before * t->out_unit;
    p.in_bytes = min_u64(t->in_bytes - p.in_at, in);
    p.out_bytes = min_u64(t->out_bytes - p.out_at, out);
    return p;
}

/* ---- One piece ----------------------------------------------------------------- */

static drv_result submit(struct run *run, struct slot *slot, struct flight *flight)
{
    struct transfer *t = run->t;
    const struct paths *paths = &run->paths;
    const struct piece *piece = &flight->piece;
    drv_ptr in;
    flight->writes_out = flight->queued = 0;
    drv_result r = paths_move_in(paths, t, run->device, slot, piece, &in);
    if (r != DRV_SUCCESS)
        return r;
    drv_ptr out = paths_output(paths, t, slot, piece);
    flight->writes_out = paths->out == PATH_ZERO_COPY;
    r = t->launch(t, run->device, slot, piece, in, out);
    if (r == DRV_SUCCESS) {
        flight->writes_out = paths_write_out(paths);
        r = paths_move_out(paths, t, run->device, slot, piece, out);
    }
    /* The one piece of small work is waited for by its stream. */
    if (r == DRV_SUCCESS && run->pieces > 1)
        r = run->device->driver->event_record(slot->event, slot->stream);
    flight->queued = r == DRV_SUCCESS;
    return r;
}

static enum gpuaes_status deliver(struct run *run, struct slot *slot, const struct piece *p)
{
    struct transfer *t = run->t;
    paths_deliver(&run->paths, t, slot, p);
    enum gpuaes_status status = GPUAES_OK;
    if (t->finished != NULL)
        status = t->finished(t, slot, p);
    if (status == GPUAES_OK)
        t->in_done = p->in_at + p->in_bytes;
    return status;
}

/* ---- The pipeline --------------------------------------------------------------- */

/* Waits for the oldest piece under way and delivers it. */
static enum gpuaes_status finish_oldest(struct run *run, drv_result *r)
{
    unsigned s = (unsigned)(run->finished % run->slots);
    struct slot *slot = &run->set->slots[s];
    *r = stream_set_wait(run->device, run->set, slot, run->pieces > 1 ? slot->event : NULL);
    if (*r != DRV_SUCCESS)
        return GPUAES_FAULT;
    run->finished++;
    return deliver(run, slot, &run->flights[s].piece);
}

static enum gpuaes_status pump(struct run *run, drv_result *r)
{
    enum gpuaes_status status = GPUAES_OK;
    while (run->submitted < run->pieces) {
        struct piece piece = piece_at(run, run->submitted);
        if (run->submitted - run->finished == run->slots &&
            (status = finish_oldest(run, r)) != GPUAES_OK)
            return status;
        unsigned s = (unsigned)(run->submitted % run->slots);
        run->flights[s].piece = piece;
        run->submitted++;
        *r = submit(run, &run->set->slots[s], &run->flights[s]);
        if (*r != DRV_SUCCESS)
            return GPUAES_FAULT;
    }
    while (run->finished < run->submitted && status == GPUAES_OK)
        status = finish_oldest(run, r);
    return status;
}

/*
 * After an error: waits until the device does nothing more for us, and finds
 * out what it did. Pieces that completed in order count; of the others nothing
 * may have been written where the caller's input was.
 */
static enum gpuaes_status drain(struct run *run, enum gpuaes_status status, int *lost)
{
    const struct transfer *t = run->t;
    int in_place = t->in == t->out, in_order = 1, undefined = 0;
    for (; run->finished < run->submitted; run->finished++) {
        unsigned s = (unsigned)(run->finished % run->slots);
        struct slot *slot = &run->set->slots[s];
        struct flight *flight = &run->flights[s];
        drv_result r = stream_set_wait(run->device, run->set, slot, NULL);
        if (r == DRV_NOT_READY) {
            /* It may yet write: neither our memory nor the caller's is safe. */
            *lost = 1;
            undefined |= flight->writes_out;
        }
        int complete = r == DRV_SUCCESS && flight->queued;
        if (complete && in_order && status == GPUAES_FAULT)
            in_order = deliver(run, slot, &flight->piece) == GPUAES_OK;
        else
            in_order = 0;
        if (!in_order)
            undefined |= in_place && flight->writes_out;
    }
    return undefined ? GPUAES_UNDEFINED : status;
}

/* Wipes what the stream set's buffers held of this work; queued, not waited for. */
static drv_result wipe(const struct run *run, const struct stream_set_needs *needs)
{
    drv_result first = DRV_SUCCESS;
    for (unsigned i = 0; i < run->slots; i++) {
        struct slot *slot = &run->set->slots[i];
        const drv_result results[] = {
            slot_wipe(slot, run->device->driver, slot->buffer[0], needs->buffer[0]),
            slot_wipe(slot, run->device->driver, slot->buffer[1], needs->buffer[1]),
            slot_wipe(slot, run->device->driver, slot->staging_address, run->paths.staging)};
        for (int k = 0; k < 3 && first == DRV_SUCCESS; k++)
            first = results[k];
    }
    return first;
}

/* Until all is done, or an error. */
static enum gpuaes_status run_pieces(struct run *run, int *lost)
{
    struct device *device = run->device;
    struct stream_set_needs needs;
    paths_plan(&run->paths, run->t, device, &needs);
    size_t piece = run->paths.piece_units * run->t->in_unit;
    run->pieces = (run->t->in_bytes + piece - 1) / piece;
    enum gpuaes_status status = GPUAES_OK;
    const char *what = "preparing buffers";
    drv_result r = stream_set_prepare_some(device, run->set, &needs);
    run->slots = needs.slots;
    if (r == DRV_NOT_READY)
        *lost = 1;
    if (r == DRV_SUCCESS &&
        (run->t->in_memory.kind == GPUAES_DEVICE || run->t->out_memory.kind == GPUAES_DEVICE))
        r = stream_set_follow(device, run->set, run->slots);
    if (r == DRV_SUCCESS) {
        what = "a copy or a kernel";
        status = pump(run, &r);
    }
    /* Short memory in mid-work is a fault like any other. */
    const int in_flight = run->submitted != 0;
    if (r != DRV_SUCCESS || status != GPUAES_OK) {
        if (r != DRV_SUCCESS)
            status =
                device_fault(device, what, in_flight && r == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : r);
        status = drain(run, status, lost);
    }
    int failed = status == GPUAES_FAULT || status == GPUAES_UNDEFINED;
    /* Where preparing failed, buffers may be smaller than those that were wanted. */
    if (!*lost && in_flight && (r = wipe(run, &needs)) != DRV_SUCCESS) {
        (void)device_fault(device, "cuMemsetD8Async", r); /* the result itself is right */
        failed = 1;
    }
    if (!*lost && failed)
        stream_set_cleanse_staging(device, run->set);
    return status;
}

enum gpuaes_status transfer_run(struct device *device, struct transfer *transfer, unsigned flags)
{
    struct run run = {.device = device, .t = transfer};
    int lost = 0;
    run.set = stream_set_take(device, STREAM_SET_CALL, flags);
    if (run.set == NULL)
        return stream_set_refusal(device);
    enum gpuaes_status status = run_pieces(&run, &lost);
    stream_set_return(device, run.set, lost);
    return status;
}
