/*
 * Planning of paths, and the copies on them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/memory/host_copy.h"
#include "cuda/transfer/transfer.h"

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

/* ---- Planning ---------------------------------------------------------------- */

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

void path_plan(struct transfer *t)
{
    const struct job *job = t->job;
    const struct transform *transform = job->transform;
    struct stream_set_needs *needs = &t->needs;
    memset(needs, 0, sizeof *needs);
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

/* ---- Copies ---------------------------------------------------------------------- */

drv_result path_move_in(const struct transfer *t, size_t piece, drv_ptr *in)
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

void path_deliver(const struct transfer *t, size_t piece)
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
