/*
 * Routes are transfer paths: how the data of a piece gets to the memory that kernels
 * read, and from the memory that they write. Input and output have one each:
 *   direct   zero-copy: kernels reach device memory, and pinned memory of small work
 *   DMA      the copy engines move pinned memory
 *   staged   the CPU moves pageable memory to or from pinned staging memory, which
 *            kernels access directly
 *   window   the copy engines move pageable memory whose pages are registered for
 *            the moment; the edges outside of whole pages are staged
 *   none     no input: kernels make a keystream, which the CPU combines with it
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_ROUTE_H
#define GPUAES_ROUTE_H

#include "transfer.h"
#include "window.h"

enum route { ROUTE_NONE, ROUTE_DIRECT, ROUTE_DMA, ROUTE_STAGED, ROUTE_WINDOW };

struct routes {
    enum route in, out;
    struct window in_window, out_window; /* in place, the first is for both */
    size_t piece_units;
    int out_in_second; /* kernels write buffer[1] */
    size_t staging;    /* bytes of it that hold data */
};

/* Plans the paths from byte `from` of the input on; `needs`: what the lane must have for it. */
void routes_plan(struct routes *routes, const struct transfer *t, const struct device *device,
                 size_t from, struct lane_needs *needs);

/* Registers the pages that the piece needs. Returns 0 where they cannot be registered. */
int routes_reach(struct routes *routes, const struct transfer *t, const struct device *device,
                 const struct piece *piece);

/* Unregisters the pages before the end of this piece. */
void routes_pass(struct routes *routes, const struct transfer *t, const struct device *device,
                 const struct piece *piece);

/* Queues the copies of a piece. Kernels read at `*in` and write at `out`. */
drv_result routes_move_in(const struct routes *routes, const struct transfer *t,
                          const struct device *device, struct slot *slot, const struct piece *piece,
                          drv_ptr *in);
drv_ptr routes_output(const struct routes *routes, const struct transfer *t,
                      const struct slot *slot, const struct piece *piece);
drv_result routes_move_out(const struct routes *routes, const struct transfer *t,
                           const struct device *device, struct slot *slot,
                           const struct piece *piece, drv_ptr out);

/* 1 if the device writes the caller's output by itself. */
int routes_write_out(const struct routes *routes);

/* The CPU's part, after the device's. */
void routes_deliver(const struct routes *routes, const struct transfer *t, const struct slot *slot,
                    const struct piece *piece);

#endif
