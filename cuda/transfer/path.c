/*
 * Planning of paths, and the copies on them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/transfer/path.h"

#include <string.h>

#include "base/minmax.h"
#include "cuda/memory/host_copy.h"

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

static size_t piece_size(const struct paths *paths, const struct transfer *t, size_t bytes)
{
    if (paths->in == PATH_ZERO_COPY && paths->out == PATH_ZERO_COPY)
        return bytes + t->in_unit - 1; /* one piece, whose last unit may be a part */
    size_t limit = MAX_DIRECT_PIECE;
    if (paths->in == PATH_STAGED || paths->out == PATH_STAGED)
        limit = MAX_STAGED_PIECE;
    size_t size = bytes / SHARE;
    if (size < MIN_PIECE)
        size = MIN_PIECE;
    return min_u64(size, limit);
}

static size_t staging_bytes(const struct paths *paths, size_t in, size_t out)
{
    if (paths->in == PATH_STAGED || paths->out == PATH_STAGED)
        return in > out ? in : out;
    return 0;
}

void paths_plan(struct paths *paths, const struct transfer *t, const struct device *device,
                struct stream_set_needs *needs)
{
    size_t bytes = t->in_bytes;
    memset(needs, 0, sizeof *needs);
    memset(paths, 0, sizeof *paths);
    paths->in = t->keystream ? PATH_NONE : choose(t, &t->in_memory);
    paths->out = choose(t, &t->out_memory);
    paths->piece_units = piece_size(paths, t, bytes) / t->in_unit;
    if (paths->piece_units == 0)
        paths->piece_units = 1;
    size_t in = paths->piece_units * t->in_unit, out = paths->piece_units * t->out_unit;
    size_t pieces = (bytes + in - 1) / in;
    needs->slots = min_unsigned(pieces, STREAM_SET_SLOTS);

    int in_buffer = paths->in >= PATH_DMA;
    int out_buffer = paths->out == PATH_DMA;
    paths->out_in_second = out_buffer && (t->out_of_place || !in_buffer);
    int same = (paths->in == PATH_ZERO_COPY && paths->out == PATH_ZERO_COPY && t->in == t->out) ||
               (in_buffer && out_buffer && !paths->out_in_second);
    paths->staging = staging_bytes(paths, in, out);
    if (in_buffer)
        needs->buffer[0] = round_up(in, BUFFER_ROUNDING);
    if (paths->out_in_second)
        needs->buffer[1] = round_up(out, BUFFER_ROUNDING);
    if (paths->staging + t->extra != 0)
        needs->staging = round_up(paths->staging + t->extra, BUFFER_ROUNDING);
    if (t->scratch != NULL)
        needs->scratch = t->scratch(t, device, min_u64(bytes, in), same);
}

/* ---- Copies ---------------------------------------------------------------------- */

drv_result paths_move_in(const struct paths *paths, const struct transfer *t,
                         const struct device *device, struct slot *slot, const struct piece *piece,
                         drv_ptr *in)
{
    const unsigned char *from = t->in + piece->in_at;
    *in = slot->buffer[0];
    switch (paths->in) {
    case PATH_NONE:
        *in = 0;
        return DRV_SUCCESS;
    case PATH_ZERO_COPY:
        *in = t->in_memory.address + piece->in_at;
        return DRV_SUCCESS;
    case PATH_STAGED:
        host_copy(slot->staging, from, piece->in_bytes, 0);
        from = slot->staging;
        break;
    case PATH_DMA:
        break;
    }
    return device->driver->memcpy_htod_async(*in, from, piece->in_bytes, slot->stream);
}

drv_ptr paths_output(const struct paths *paths, const struct transfer *t, const struct slot *slot,
                     const struct piece *piece)
{
    if (paths->out == PATH_ZERO_COPY)
        return t->out_memory.address + piece->out_at;
    if (paths->out == PATH_STAGED)
        return slot->staging_address;
    return slot->buffer[paths->out_in_second];
}

drv_result paths_move_out(const struct paths *paths, const struct transfer *t,
                          const struct device *device, struct slot *slot, const struct piece *piece,
                          drv_ptr out)
{
    unsigned char *to = t->out + piece->out_at;
    if (paths->out == PATH_DMA)
        return device->driver->memcpy_dtoh_async(to, out, piece->out_bytes, slot->stream);
    return DRV_SUCCESS;
}

int paths_write_out(const struct paths *paths)
{
    return paths->out != PATH_STAGED;
}

void paths_deliver(const struct paths *paths, const struct transfer *t, const struct slot *slot,
                   const struct piece *piece)
{
    /* In place the lines are in the caches already, and best written there. */
    int streaming = t->out_bytes > STREAMING_FROM && t->in != t->out;
    unsigned char *to = t->out + piece->out_at;
    if (paths->in == PATH_NONE)
        host_xor(to, t->in + piece->in_at, slot->staging, piece->out_bytes, streaming);
    else if (paths->out == PATH_STAGED)
        host_copy(to, slot->staging, piece->out_bytes, streaming);
}
