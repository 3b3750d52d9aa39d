/*
 * The paths of a transfer, the pipeline of its pieces, and what becomes of them when the device
 * fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/transfer.h"

#include "cuda/aes/gcm_check.h"
#include "cuda/memory/host_copy.h"

/* ---- Paths ------------------------------------------------------------------------ */

/*
 * Pieces are an eighth of the work, so that filling and draining the pipeline
 * costs little, within limits: below the lower one launches dominate, above
 * the upper one nothing is gained.
 */
enum {
    SHARE = 8,
    MIN_PIECE = 128 << 10,
    MAX_STAGED_PIECE = 2 << 20,
    MAX_DIRECT_PIECE = 8 << 20,
    STREAMING_FROM = 4 << 20 /* larger output goes past the CPU's caches */
};
enum { ZERO_COPY_MAX = 4 << 20 };

static enum path choose(const struct transfer *t, const struct memory *memory)
{
    size_t bytes = t->in_bytes > t->out_bytes ? t->in_bytes : t->out_bytes;
    if (memory->kind == GPUAES_DEVICE)
        return PATH_ZERO_COPY;
    if (memory->kind == GPUAES_PINNED)
        return bytes <= ZERO_COPY_MAX ? PATH_ZERO_COPY : PATH_DMA;
    return PATH_STAGED;
}

static size_t piece_size(const struct transfer *t)
{
    if (t->in_path == PATH_ZERO_COPY && t->out_path == PATH_ZERO_COPY)
        return t->in_bytes + t->job->in_unit - 1; /* one piece, whose last unit may be a part */
    int staged = t->in_path == PATH_STAGED || t->out_path == PATH_STAGED;
    size_t size = t->in_bytes / SHARE;
    if (size < MIN_PIECE)
        size = MIN_PIECE;
    return min_u64(size, staged ? MAX_STAGED_PIECE : MAX_DIRECT_PIECE);
}

/* Plans the paths of the input and output, and what the stream set must have for them. */
static void plan(struct transfer *t)
{
    const struct job *job = t->job;
    const struct transform *transform = job->transform;
    struct stream_set_needs *needs = &t->needs;
    *needs = (struct stream_set_needs){0};
    t->in_path = choose(t, &job->in_memory);
    t->out_path = choose(t, &job->out_memory);
    if (job->keystream && job->in_memory.kind != GPUAES_DEVICE && t->out_path == PATH_STAGED)
        t->in_path = PATH_NONE;
    size_t units = piece_size(t) / job->in_unit;
    if (units == 0)
        units = 1;
    t->in_piece = units * job->in_unit;
    t->out_piece = units * job->out_unit;
    t->pieces = (t->in_bytes + t->in_piece - 1) / t->in_piece;
    needs->slots = min_unsigned(t->pieces, STREAM_SET_SLOTS);

    int in_buffer = t->in_path >= PATH_DMA, out_buffer = t->out_path == PATH_DMA;
    t->out_in_second = out_buffer && (job->out_of_place || !in_buffer);
    int same = (t->in_path == PATH_ZERO_COPY && t->out_path == PATH_ZERO_COPY && t->in == t->out) ||
               (in_buffer && out_buffer && !t->out_in_second);
    size_t extra = transform->extra != NULL ? transform->extra(t) : 0;
    t->staging = 0;
    if (t->in_path == PATH_STAGED || t->out_path == PATH_STAGED)
        t->staging = t->in_piece > t->out_piece ? t->in_piece : t->out_piece;
    if (in_buffer)
        needs->buffer[0] = round_up(t->in_piece, BUFFER_ROUNDING);
    if (t->out_in_second)
        needs->buffer[1] = round_up(t->out_piece, BUFFER_ROUNDING);
    if (t->staging + extra != 0)
        needs->staging = round_up(t->staging + extra, BUFFER_ROUNDING);
    if (transform->scratch != NULL)
        needs->scratch = transform->scratch(t, same);
}

/* ---- One piece ----------------------------------------------------------------- */

/* Queues the input's copy of a piece. Kernels read at `*in`. */
static drv_result queue_input(const struct transfer *t, size_t piece, drv_ptr *in)
{
    const struct slot *slot = piece_slot(t, piece);
    const unsigned char *from = t->in + piece * t->in_piece;
    size_t bytes = piece_in_bytes(t, piece);
    *in = slot->buffer[0];
    switch (t->in_path) {
    case PATH_NONE:
        *in = 0;
        return DRV_SUCCESS;
    case PATH_ZERO_COPY:
        *in = t->in_address + piece * t->in_piece;
        return DRV_SUCCESS;
    case PATH_STAGED:
        host_copy(slot->staging, from, bytes, 0);
        from = slot->staging;
        break;
    case PATH_DMA:
        break;
    }
    return t->device->driver->memcpy_htod_async(*in, from, bytes, slot->stream);
}

/* The CPU's part, after the device's. */
static void move_out(const struct transfer *t, size_t piece)
{
    /* In place the lines are in the caches already, and best written there. */
    int streaming = t->out_bytes > STREAMING_FROM && t->in != t->out;
    const unsigned char *staging = piece_slot(t, piece)->staging;
    unsigned char *to = t->out + piece * t->out_piece;
    size_t bytes = piece_out_bytes(t, piece);
    if (t->in_path == PATH_NONE)
        host_xor(to, t->in + piece * t->in_piece, staging, bytes, streaming);
    else if (t->out_path == PATH_STAGED)
        host_copy(to, staging, bytes, streaming);
}

/* Where kernels write a piece. */
static drv_ptr place_output(struct transfer *t, size_t piece)
{
    const struct slot *slot = piece_slot(t, piece);
    if (t->out_path == PATH_STAGED)
        return slot->staging_address;
    if (t->out_path != PATH_ZERO_COPY)
        return slot->buffer[t->out_in_second];
    t->writing = piece + 1;
    return t->out_address + piece * t->out_piece;
}

/* Queues what comes behind the kernels of a piece. */
static drv_result queue_output(struct transfer *t, size_t piece, drv_ptr out)
{
    const struct driver *d = t->device->driver;
    const struct slot *slot = piece_slot(t, piece);
    drv_result r = DRV_SUCCESS;
    if (t->out_path == PATH_DMA) {
        t->writing = piece + 1;
        r = d->memcpy_dtoh_async(t->out + piece * t->out_piece, out, piece_out_bytes(t, piece),
                                 slot->stream);
    }
    /* The one piece of small work is waited for by its stream. */
    if (r == DRV_SUCCESS && t->pieces > 1)
        r = d->event_record(slot->event, slot->stream);
    t->queued += r == DRV_SUCCESS;
    return r;
}

/* Of the oldest piece under way, which is done. */
static enum gpuaes_status deliver(struct transfer *t)
{
    const struct transform *transform = t->job->transform;
    move_out(t, t->finished);
    enum gpuaes_status status = GPUAES_OK;
    if (transform->finished != NULL)
        status = transform->finished(t, t->finished);
    if (status == GPUAES_OK)
        t->done += piece_in_bytes(t, t->finished);
    return status;
}

/* ---- The pipeline --------------------------------------------------------------- */

/* Waits for the oldest piece under way and delivers it. */
static drv_result finish_oldest(struct transfer *t)
{
    const struct slot *slot = piece_slot(t, t->finished);
    drv_result r = stream_set_wait(t->device, t->set, slot, t->pieces > 1 ? slot->event : NULL);
    if (r != DRV_SUCCESS)
        return r;
    t->status = deliver(t);
    t->finished++;
    return r;
}

/*
 * After an error: waits until the device does nothing more for us, and finds
 * out what it did. Pieces that completed in order count; of the others nothing
 * may have been written where the caller's input was.
 */
static void drain(struct transfer *t, int *lost)
{
    int in_order = t->status == GPUAES_FAULT, undefined = 0;
    for (; t->finished < t->submitted; t->finished++) {
        int writing = t->finished < t->writing;
        drv_result r = stream_set_wait(t->device, t->set, piece_slot(t, t->finished), NULL);
        if (r == DRV_NOT_READY) {
            /* It may yet write: neither our memory nor the caller's is safe. */
            *lost = 1;
            undefined |= writing;
        }
        in_order =
            in_order && r == DRV_SUCCESS && t->finished < t->queued && deliver(t) == GPUAES_OK;
        if (!in_order)
            undefined |= t->in == t->out && writing;
    }
    if (undefined)
        t->status = GPUAES_UNDEFINED;
}

/* Wipes what the stream set's buffers held of this work; queued, not waited for. */
static drv_result wipe(const struct transfer *t)
{
    struct stream_set_needs held = t->needs;
    drv_result first = DRV_SUCCESS;
    held.staging = t->staging;
    if (t->job->gcm == NULL)
        held.scratch = 0;
    for (unsigned i = 0; i < held.slots; i++) {
        drv_result r = slot_wipe(&t->set->slots[i], t->device->driver, &held);
        first = first == DRV_SUCCESS ? r : first;
    }
    return first;
}

/* After the last piece, or a failure: leaves no data in the stream set, and gives it back. */
static void end(struct transfer *t, drv_result r)
{
    struct device *device = t->device;
    const int begun = t->submitted != 0;
    int lost = !begun && r == DRV_NOT_READY;
    if (r != DRV_SUCCESS)
        t->status = begun ? device_fault_midway(device, "a copy or a kernel", r)
                          : device_fault(device, "preparing buffers", r);
    if (t->status != GPUAES_OK)
        drain(t, &lost);
    int failed = t->status == GPUAES_FAULT || t->status == GPUAES_UNDEFINED;
    /* Where preparing failed, buffers may be smaller than those that were wanted. */
    if (!lost && begun && (r = wipe(t)) != DRV_SUCCESS) {
        (void)device_fault(device, "cuMemsetD8Async", r); /* the result itself is right */
        failed = 1;
    }
    if (!lost && failed)
        stream_set_cleanse_staging(device, t->set);
    if (begun && r == DRV_OUT_OF_MEMORY) /* its device memory may hold text: it is nobody's */
        lost = 1;
    stream_set_return(device, t->set, lost);
}

/* What is not done yet: all of it, or what another device has left. */
static void begin(struct transfer *t)
{
    const struct job *job = t->job;
    size_t at = t->at + t->done, end_at = t->at + t->bytes;
    size_t out_at = at / job->in_unit * job->out_unit;
    size_t out_end =
        end_at == job->in_bytes ? job->out_bytes : end_at / job->in_unit * job->out_unit;
    t->in = job->in + at;
    t->out = job->out + out_at;
    t->in_address = job->in_memory.address + at;
    t->out_address = job->out_memory.address + out_at;
    t->in_bytes = end_at - at;
    t->out_bytes = out_end - out_at;
    t->submitted = t->queued = t->writing = t->finished = 0;
    plan(t);
}

/* All that comes before the first piece: where memory is short here, nothing is broken. */
static drv_result prepare(struct transfer *t)
{
    drv_result r = stream_set_prepare(t->device, t->set, &t->needs);
    if (r == DRV_SUCCESS && t->job->gcm != NULL)
        r = gcm_check(t->device, t->set->slots[0].stream);
    if (r == DRV_SUCCESS && job_is_on_device(t->job))
        r = stream_set_follow(t->device, t->set, t->needs.slots);
    /* The CPU reads blocks of pinned input, and must wait for work that is queued on it. */
    if (r == DRV_SUCCESS && t->set->follows && t->job->whole &&
        t->job->in_memory.kind == GPUAES_PINNED)
        r = stream_set_wait(t->device, t->set, &t->set->slots[0], NULL);
    return r;
}

void transfer_run(struct transfer *t)
{
    struct device *device = t->device;
    t->status = GPUAES_FAULT;
    if (!device_enter(device))
        return;
    t->set = stream_set_take(device, STREAM_SET_CALL, t->job->flags);
    t->status = t->set != NULL ? GPUAES_OK : stream_set_refusal(device);
    if (t->set != NULL) {
        begin(t);
        drv_result r = prepare(t);
        while (r == DRV_SUCCESS && t->status == GPUAES_OK && t->finished < t->pieces) {
            if (t->submitted == t->pieces || t->submitted - t->finished == t->needs.slots) {
                r = finish_oldest(t);
                continue;
            }
            size_t piece = t->submitted++;
            drv_ptr in, out = 0;
            r = queue_input(t, piece, &in);
            if (r == DRV_SUCCESS) {
                out = place_output(t, piece);
                r = t->job->transform->launch(t, piece, in, out);
            }
            if (r == DRV_SUCCESS)
                r = queue_output(t, piece, out);
        }
        end(t, r);
    }
    device_leave(device);
}
