/*
 * Routes are transfer paths: how the data of a piece gets to the memory that kernels
 * read, and from the memory that they write. Input and output have one each:
 *   direct   zero-copy: kernels reach device memory, and pinned memory of small work
 *   DMA      the copy engines move pinned memory
 *   staged   the CPU moves pageable memory to or from pinned staging memory, which
 *            kernels access directly
 *   none     no input: kernels make a keystream, which the CPU combines with it
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_PATH_H
#define GPUAES_CUDA_TRANSFER_PATH_H

#include "cuda/transfer/transfer.h"

enum route { ROUTE_NONE, ROUTE_DIRECT, ROUTE_DMA, ROUTE_STAGED };

struct routes {
    enum route in, out;
    size_t piece_units;
    int out_in_second; /* kernels write buffer[1] */
    size_t staging;    /* bytes of it that hold data */
};

/* Plans the paths of the input and output; `needs`: what the lane must have for them. */
void routes_plan(struct routes *routes, const struct transfer *t, const struct device *device,
                 struct lane_needs *needs);

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
