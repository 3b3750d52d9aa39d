/*
 * Planning of routes, and the copies on them.
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

static enum route choose(const struct transfer *t, const struct memory *memory)
{
    size_t bytes = t->in_bytes > t->out_bytes ? t->in_bytes : t->out_bytes;
    if (memory->kind == GPUAES_DEVICE)
        return ROUTE_DIRECT;
    if (memory->kind == GPUAES_PINNED)
        return bytes <= ZERO_COPY_MAX ? ROUTE_DIRECT : ROUTE_DMA;
    return ROUTE_STAGED;
}

static size_t piece_size(const struct routes *routes, const struct transfer *t, size_t bytes)
{
    if (routes->in == ROUTE_DIRECT && routes->out == ROUTE_DIRECT)
        return bytes + t->in_unit - 1; /* one piece, whose last unit may be a part */
    size_t limit = MAX_DIRECT_PIECE;
    if (routes->in == ROUTE_STAGED || routes->out == ROUTE_STAGED)
        limit = MAX_STAGED_PIECE;
    size_t size = bytes / SHARE;
    if (size < MIN_PIECE)
        size = MIN_PIECE;
    return min_u64(size, limit);
}

static size_t staging_bytes(const struct routes *routes, size_t in, size_t out)
{
    if (routes->in == ROUTE_STAGED || routes->out == ROUTE_STAGED)
        return in > out ? in : out;
    return 0;
}

void routes_plan(struct routes *routes, const struct transfer *t, const struct device *device,
                 struct lane_needs *needs)
{
    size_t bytes = t->in_bytes;
    memset(needs, 0, sizeof *needs);
    memset(routes, 0, sizeof *routes);
    routes->in = t->keystream ? ROUTE_NONE : choose(t, &t->in_memory);
    routes->out = choose(t, &t->out_memory);
    routes->piece_units = piece_size(routes, t, bytes) / t->in_unit;
    if (routes->piece_units == 0)
        routes->piece_units = 1;
    size_t in = routes->piece_units * t->in_unit, out = routes->piece_units * t->out_unit;
    size_t pieces = (bytes + in - 1) / in;
    needs->slots = min_unsigned(pieces, LANE_SLOTS);

    int in_buffer = routes->in >= ROUTE_DMA;
    int out_buffer = routes->out == ROUTE_DMA;
    routes->out_in_second = out_buffer && (t->apart || !in_buffer);
    int same = (routes->in == ROUTE_DIRECT && routes->out == ROUTE_DIRECT && t->in == t->out) ||
               (in_buffer && out_buffer && !routes->out_in_second);
    routes->staging = staging_bytes(routes, in, out);
    if (in_buffer)
        needs->buffer[0] = round_up(in, BUFFER_ROUNDING);
    if (routes->out_in_second)
        needs->buffer[1] = round_up(out, BUFFER_ROUNDING);
    if (routes->staging + t->extra != 0)
        needs->staging = round_up(routes->staging + t->extra, BUFFER_ROUNDING);
    if (t->scratch != NULL)
        needs->scratch = t->scratch(t, device, min_u64(bytes, in), same);
}

/* ---- Copies ---------------------------------------------------------------------- */

drv_result routes_move_in(const struct routes *routes, const struct transfer *t,
                          const struct device *device, struct slot *slot, const struct piece *piece,
                          drv_ptr *in)
{
    const unsigned char *from = t->in + piece->in_at;
    *in = slot->buffer[0];
    switch (routes->in) {
    case ROUTE_NONE:
        *in = 0;
        return DRV_SUCCESS;
    case ROUTE_DIRECT:
        *in = t->in_memory.address + piece->in_at;
        return DRV_SUCCESS;
    case ROUTE_STAGED:
        host_copy(slot->staging, from, piece->in_bytes, 0);
        from = slot->staging;
        break;
    case ROUTE_DMA:
        break;
    }
    return device->driver->memcpy_htod_async(*in, from, piece->in_bytes, slot->stream);
}

drv_ptr routes_output(const struct routes *routes, const struct transfer *t,
                      const struct slot *slot, const struct piece *piece)
{
    if (routes->out == ROUTE_DIRECT)
        return t->out_memory.address + piece->out_at;
    if (routes->out == ROUTE_STAGED)
        return slot->staging_address;
    return slot->buffer[routes->out_in_second];
}

drv_result routes_move_out(const struct routes *routes, const struct transfer *t,
                           const struct device *device, struct slot *slot,
                           const struct piece *piece, drv_ptr out)
{
    unsigned char *to = t->out + piece->out_at;
    if (routes->out == ROUTE_DMA)
        return device->driver->memcpy_dtoh_async(to, out, piece->out_bytes, slot->stream);
    return DRV_SUCCESS;
}

int routes_write_out(const struct routes *routes)
{
    return routes->out != ROUTE_STAGED;
}

void routes_deliver(const struct routes *routes, const struct transfer *t, const struct slot *slot,
                    const struct piece *piece)
{
    /* In place the lines are in the caches already, and best written there. */
    int streaming = t->out_bytes > STREAMING_FROM && t->in != t->out;
    unsigned char *to = t->out + piece->out_at;
    if (routes->in == ROUTE_NONE)
        host_xor(to, t->in + piece->in_at, slot->staging, piece->out_bytes, streaming);
    else if (routes->out == ROUTE_STAGED)
        host_copy(to, slot->staging, piece->out_bytes, streaming);
}
