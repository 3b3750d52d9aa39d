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

enum path { PATH_NONE, PATH_ZERO_COPY, PATH_DMA, PATH_STAGED };

struct paths {
    enum path in, out;
    size_t piece_units;
    int out_in_second; /* kernels write buffer[1] */
    size_t staging;    /* bytes of it that hold data */
};

/* Plans the paths of the input and output; `needs`: what the stream set must have for them. */
void paths_plan(struct paths *paths, const struct transfer *t, const struct device *device,
                struct stream_set_needs *needs);

/* Queues the copies of a piece. Kernels read at `*in` and write at `out`. */
drv_result paths_move_in(const struct paths *paths, const struct transfer *t,
                         const struct device *device, struct slot *slot, const struct piece *piece,
                         drv_ptr *in);
drv_ptr paths_output(const struct paths *paths, const struct transfer *t, const struct slot *slot,
                     const struct piece *piece);
drv_result paths_move_out(const struct paths *paths, const struct transfer *t,
                          const struct device *device, struct slot *slot, const struct piece *piece,
                          drv_ptr out);

/* 1 if the device writes the caller's output by itself. */
int paths_write_out(const struct paths *paths);

/* The CPU's part, after the device's. */
void paths_deliver(const struct paths *paths, const struct transfer *t, const struct slot *slot,
                   const struct piece *piece);

#endif
