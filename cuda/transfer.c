/*
 * The pipeline of pieces, and what becomes of them when the device fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "transfer.h"

#include <string.h>

#include "host_copy.h"
#include "memory.h"
#include "statistics.h"

/*
 * Pieces are an eighth of the work, so that filling and draining the pipeline
 * costs little, within limits: below the lower one launches dominate, above
 * the upper one nothing is gained.
 */
enum {
    SHARE = 8,
    MIN_PIECE = 128 << 10,
    MAX_STAGED_PIECE = 2 << 20,
    MAX_DIRECT_PIECE = 16 << 20,
    STREAMING_FROM = 4 << 20 /* larger output goes past the CPU's caches */
};
enum { ZERO_COPY_MAX = 1 << 20 };
enum { ALIGNMENT = 16, BUFFER_ROUNDING = 256 << 10 };

/* What becomes of a piece that is under way. */
struct flight {
    struct piece piece;
    int writes_out; /* a write to the caller's output has been queued */
    int recorded;   /* its event stands behind all of its work */
};

struct run {
    struct device *device;
    struct lane *lane;
    struct transfer *t;
    struct flight flights[LANE_SLOTS];
    size_t piece_units;
    size_t submitted, finished, pieces;
    unsigned slots;
    int zero_copy;
    int timed_out; /* a wait was in vain: the next ones only look */
};

static int aligned(const void *p)
{
    return (uintptr_t)p % ALIGNMENT == 0;
}

static int staged(const struct transfer *t)
{
    return t->in_kind == GPUAES_PAGEABLE || t->out_kind == GPUAES_PAGEABLE;
}

/* Kernels must not write over what others still read: they read a copy instead. */
static int needs_copy(const struct transfer *t)
{
    return t->apart && t->in == t->out;
}

/* Kernels read the input where it is. */
static int reads_in_place(const struct transfer *t)
{
    return t->in_kind == GPUAES_DEVICE && aligned(t->in) && !needs_copy(t);
}

/* Kernels write the output where it belongs. */
static int writes_in_place(const struct transfer *t)
{
    return t->out_kind == GPUAES_DEVICE && aligned(t->out);
}

static int writes_staging(const struct transfer *t)
{
    return t->out_kind == GPUAES_PAGEABLE && !t->scattered;
}

/* ---- Planning ---------------------------------------------------------------- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static size_t piece_size(const struct transfer *t)
{
    if (reads_in_place(t) && writes_in_place(t))
        return t->in_bytes;
    size_t limit = staged(t) ? MAX_STAGED_PIECE : MAX_DIRECT_PIECE;
    size_t size = t->in_bytes / SHARE;
    if (size < MIN_PIECE)
        size = MIN_PIECE;
    return size < limit ? size : limit;
}

/* The whole in one piece, by a kernel that reads and writes pinned memory itself. */
static int wants_zero_copy(const struct transfer *t)
{
    return t->in_kind == GPUAES_PINNED && t->out_kind == GPUAES_PINNED && aligned(t->in) &&
           aligned(t->out) && t->in_bytes <= ZERO_COPY_MAX && !t->scattered;
}

static void plan(struct run *run, struct lane_needs *needs)
{
    struct transfer *t = run->t;
    memset(needs, 0, sizeof *needs);
    run->zero_copy = wants_zero_copy(t);
    /* A zero-copy transfer is one piece, whose last unit may be a part. */
    size_t size = run->zero_copy ? t->in_bytes + t->in_unit - 1 : piece_size(t);
    run->piece_units = size / t->in_unit;
    if (run->piece_units == 0)
        run->piece_units = 1;
    size_t in = run->piece_units * t->in_unit, out = run->piece_units * t->out_unit;
    run->pieces = (t->in_bytes + in - 1) / in;
    run->slots = run->pieces < LANE_SLOTS ? (unsigned)run->pieces : LANE_SLOTS;
    needs->slots = run->slots;
    if (run->zero_copy) {
        needs->buffer[0] = needs_copy(t) ? round_up(in, BUFFER_ROUNDING) : 0;
        return;
    }
    /* Output may share the input's buffer, unless kernels need them apart. */
    int output_buffer = !writes_in_place(t) && !writes_staging(t);
    int reads_back = t->extra != 0 || (t->apart && t->in_kind == GPUAES_DEVICE);
    size_t larger = in > out ? in : out;
    if (!t->keystream && !reads_in_place(t))
        needs->buffer[0] = round_up(in, BUFFER_ROUNDING);
    if (output_buffer && (t->apart || needs->buffer[0] == 0))
        needs->buffer[1] = round_up(out + t->extra, BUFFER_ROUNDING);
    if (staged(t) || reads_back)
        needs->staging = round_up((staged(t) ? larger : GPUAES_BLOCK) + t->extra, BUFFER_ROUNDING);
}

static struct piece piece_at(const struct run *run, size_t number)
{
    const struct transfer *t = run->t;
    struct piece p = {.number = number};
    size_t in = run->piece_units * t->in_unit, out = run->piece_units * t->out_unit;
    p.in_at = number * in;
    p.out_at = number * out;
    p.in_bytes = t->in_bytes - p.in_at < in ? t->in_bytes - p.in_at : in;
    p.out_bytes = t->out_bytes - p.out_at < out ? t->out_bytes - p.out_at : out;
    return p;
}

/* ---- One piece ----------------------------------------------------------------- */

/* Brings the input to where kernels can read it. */
static drv_result move_in(struct run *run, struct slot *slot, const struct piece *p, drv_ptr *in)
{
    const struct driver *d = &run->device->driver;
    const struct transfer *t = run->t;
    const unsigned char *from = t->in + p->in_at;
    *in = slot->buffer[0];
    if (t->keystream) {
        *in = 0;
        return DRV_SUCCESS;
    }
    if (reads_in_place(t)) {
        *in = memory_address(from);
        return DRV_SUCCESS;
    }
    if (t->in_kind == GPUAES_DEVICE)
        return d->memcpy_dtod_async(*in, memory_address(from), p->in_bytes, slot->stream);
    if (t->in_kind == GPUAES_PAGEABLE) {
        host_copy(slot->staging, from, p->in_bytes, 0);
        from = slot->staging;
    }
    return d->memcpy_htod_async(*in, from, p->in_bytes, slot->stream);
}

static drv_ptr output_address(const struct run *run, const struct slot *slot, const struct piece *p)
{
    const struct transfer *t = run->t;
    if (writes_in_place(t))
        return memory_address(t->out + p->out_at);
    if (writes_staging(t))
        return slot->staging_address;
    return t->apart || t->keystream || reads_in_place(t) ? slot->buffer[1] : slot->buffer[0];
}

/* Takes the output from where kernels left it to where the CPU finds it. */
static drv_result move_out(struct run *run, struct slot *slot, struct flight *flight, drv_ptr out)
{
    const struct driver *d = &run->device->driver;
    const struct transfer *t = run->t;
    const struct piece *p = &flight->piece;
    unsigned char *to = t->out + p->out_at;
    if (writes_in_place(t) || writes_staging(t))
        return DRV_SUCCESS;
    if (t->out_kind == GPUAES_PAGEABLE)
        return d->memcpy_dtoh_async(slot->staging, out, p->out_bytes, slot->stream);
    flight->writes_out = 1;
    if (t->out_kind == GPUAES_DEVICE)
        return d->memcpy_dtod_async(memory_address(to), out, p->out_bytes, slot->stream);
    return d->memcpy_dtoh_async(to, out, p->out_bytes, slot->stream);
}

static drv_result submit_zero_copy(struct run *run, struct slot *slot, struct flight *flight)
{
    const struct driver *d = &run->device->driver;
    struct transfer *t = run->t;
    drv_ptr in, out;
    /* The driver takes no pointers to const here, but only looks them up. */
    drv_result r = d->mem_host_get_device_pointer(&in, (void *)(uintptr_t)t->in, 0);
    if (r == DRV_SUCCESS)
        r = d->mem_host_get_device_pointer(&out, t->out, 0);
    if (r == DRV_SUCCESS && needs_copy(t)) {
        in = slot->buffer[0];
        r = d->memcpy_htod_async(in, t->in, t->in_bytes, slot->stream);
    }
    if (r != DRV_SUCCESS)
        return r;
    flight->writes_out = 1;
    return t->launch(t, run->device, slot, &flight->piece, in, out);
}

static drv_result submit(struct run *run, struct slot *slot, struct flight *flight)
{
    const struct driver *d = &run->device->driver;
    struct transfer *t = run->t;
    drv_ptr in, out;
    drv_result r;
    flight->writes_out = flight->recorded = 0;
    if (run->zero_copy) {
        r = submit_zero_copy(run, slot, flight);
    } else {
        r = move_in(run, slot, &flight->piece, &in);
        if (r != DRV_SUCCESS)
            return r;
        out = output_address(run, slot, &flight->piece);
        flight->writes_out = writes_in_place(t);
        r = t->launch(t, run->device, slot, &flight->piece, in, out);
        if (r == DRV_SUCCESS)
            r = move_out(run, slot, flight, out);
    }
    if (r == DRV_SUCCESS)
        r = d->event_record(slot->event, slot->stream);
    flight->recorded = r == DRV_SUCCESS;
    return r;
}

/* The CPU's part, after the device's. */
static enum gpuaes_status deliver(struct run *run, struct slot *slot, const struct piece *p)
{
    struct transfer *t = run->t;
    /* In place the lines are in the caches already, and best written there. */
    int streaming = t->out_bytes > STREAMING_FROM && t->in != t->out;
    if (t->keystream)
        host_xor(t->out + p->out_at, t->in + p->in_at, slot->staging, p->out_bytes, streaming);
    else if (t->out_kind == GPUAES_PAGEABLE)
        host_copy(t->out + p->out_at, slot->staging, p->out_bytes, streaming);
    enum gpuaes_status status = GPUAES_OK;
    if (t->finished != NULL)
        status = t->finished(t, slot, p);
    if (status == GPUAES_OK)
        t->in_done = p->in_at + p->in_bytes;
    return status;
}

/* ---- The pipeline --------------------------------------------------------------- */

/* One timeout for all waits of a run: a device that hangs does so on every stream. */
static drv_result wait_for(struct run *run, const struct slot *slot, drv_event event)
{
    const struct driver *d = &run->device->driver;
    if (run->timed_out)
        return event != NULL ? d->event_query(event) : d->stream_query(slot->stream);
    drv_result r = device_wait(run->device, slot->stream, event);
    run->timed_out = r == DRV_NOT_READY;
    return r;
}

/* Waits for the oldest piece under way and delivers it. */
static enum gpuaes_status finish_oldest(struct run *run, drv_result *r)
{
    unsigned s = (unsigned)(run->finished % run->slots);
    struct slot *slot = &run->lane->slots[s];
    *r = wait_for(run, slot, slot->event);
    if (*r != DRV_SUCCESS)
        return GPUAES_FAULT;
    run->finished++;
    return deliver(run, slot, &run->flights[s].piece);
}

static enum gpuaes_status pump(struct run *run, drv_result *r)
{
    enum gpuaes_status status = GPUAES_OK;
    while (run->submitted < run->pieces) {
        if (run->submitted - run->finished == run->slots &&
            (status = finish_oldest(run, r)) != GPUAES_OK)
            return status;
        unsigned s = (unsigned)(run->submitted % run->slots);
        run->flights[s].piece = piece_at(run, run->submitted);
        run->submitted++;
        *r = submit(run, &run->lane->slots[s], &run->flights[s]);
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
        struct slot *slot = &run->lane->slots[s];
        struct flight *flight = &run->flights[s];
        drv_result r = wait_for(run, slot, NULL);
        if (r == DRV_NOT_READY) {
            /* It may yet write: neither our memory nor the caller's is safe. */
            *lost = 1;
            undefined |= flight->writes_out;
        }
        int complete = r == DRV_SUCCESS && flight->recorded;
        if (complete && in_order && status == GPUAES_FAULT)
            in_order = deliver(run, slot, &flight->piece) == GPUAES_OK;
        else
            in_order = 0;
        if (!in_order)
            undefined |= in_place && flight->writes_out;
    }
    return undefined ? GPUAES_UNDEFINED : status;
}

/* Wipes what the lane's buffers held of this work; queued, not waited for. */
static drv_result wipe(const struct run *run)
{
    const struct driver *d = &run->device->driver;
    const struct transfer *t = run->t;
    drv_result r = DRV_SUCCESS;
    if (run->zero_copy && !needs_copy(t))
        return r;
    size_t in = run->piece_units * t->in_unit, out = run->piece_units * t->out_unit;
    size_t larger = in > out ? in : out;
    for (unsigned i = 0; i < run->slots && r == DRV_SUCCESS; i++) {
        const struct slot *slot = &run->lane->slots[i];
        for (int b = 0; b < 2 && r == DRV_SUCCESS; b++) {
            size_t n = slot->buffer_bytes[b] < larger ? slot->buffer_bytes[b] : larger;
            if (n != 0)
                r = d->memset_d8_async(slot->buffer[b], 0, n, slot->stream);
        }
        size_t n = slot->staging_bytes < larger ? slot->staging_bytes : larger;
        if (staged(t) && n != 0 && r == DRV_SUCCESS)
            r = d->memset_d8_async(slot->staging_address, 0, n, slot->stream);
    }
    return r;
}

/* After a fault: the device does nothing more, and may not be able to wipe. */
static void cleanse_staging(const struct run *run)
{
    for (unsigned i = 0; i < LANE_SLOTS; i++) {
        const struct slot *slot = &run->lane->slots[i];
        if (slot->staging != NULL)
            gpuaes_cleanse(slot->staging, slot->staging_bytes);
    }
}

/* Work on device memory comes after what the application put on the legacy stream. */
static drv_result follow_legacy_stream(struct run *run)
{
    const struct driver *d = &run->device->driver;
    const struct transfer *t = run->t;
    struct slot *first = &run->lane->slots[0];
    if (t->in_kind != GPUAES_DEVICE && t->out_kind != GPUAES_DEVICE)
        return DRV_SUCCESS;
    drv_result r = d->event_record(first->event, DRV_STREAM_LEGACY);
    for (unsigned i = 0; i < run->slots && r == DRV_SUCCESS; i++)
        r = d->stream_wait_event(run->lane->slots[i].stream, first->event, 0);
    return r;
}

enum gpuaes_status transfer_run(struct device *device, struct transfer *transfer, unsigned flags)
{
    struct run run = {.device = device, .t = transfer};
    struct lane_needs needs;
    int lost = 0;
    run.lane = lane_take(device, flags);
    if (run.lane == NULL)
        return GPUAES_BUSY;
    plan(&run, &needs);
    enum gpuaes_status status = GPUAES_OK;
    const char *what = "preparing buffers";
    drv_result r = lane_prepare(device, run.lane, &needs);
    if (r == DRV_NOT_READY)
        lost = 1;
    if (r == DRV_SUCCESS)
        r = follow_legacy_stream(&run);
    if (r == DRV_SUCCESS) {
        what = "a copy or a kernel";
        status = pump(&run, &r);
    }
    /* Short memory in mid-work is a fault like any other. */
    int in_flight = run.submitted != 0;
    if (r != DRV_SUCCESS || status != GPUAES_OK) {
        if (r != DRV_SUCCESS)
            status =
                device_fault(device, what, in_flight && r == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : r);
        status = drain(&run, status, &lost);
    }
    int failed = status == GPUAES_FAULT || status == GPUAES_UNDEFINED;
    if (!lost && (r = wipe(&run)) != DRV_SUCCESS) {
        (void)device_fault(device, "cuMemsetD8Async", r); /* the result itself is right */
        failed = 1;
    }
    if (!lost && failed)
        cleanse_staging(&run);
    lane_return(device, run.lane, lost);
    return status;
}
