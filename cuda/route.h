/*
 * Routes: how the data of a piece gets to where kernels read it, and from where
 * they write it. Input and output have one each:
 *   direct   kernels reach it: device memory, and pinned memory of small work
 *   DMA      the copy engines move it: pinned memory
 *   staged   the CPU moves it to or from pinned staging memory, which kernels
 *            write themselves: pageable memory
 *   window   the copy engines move it, as its pages are registered for the
 *            moment; what is beside whole pages is staged
 *   none     no input: a keystream, which the CPU combines with it
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

/* Decides, from byte `from` of the input on, and says what the lane must have for it. */
void routes_plan(struct routes *routes, const struct transfer *t, const struct device *device,
                 size_t from, struct lane_needs *needs);

/* Registers what the piece needs; 0 where that cannot be. */
int routes_reach(struct routes *routes, const struct transfer *t, const struct device *device,
                 const struct piece *piece);

/* Unregisters what lies before the end of this piece. */
void routes_pass(struct routes *routes, const struct transfer *t, const struct device *device,
                 const struct piece *piece);

/* Queues the copies of a piece; `*in` and `*out` are where kernels find and leave it. */
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
