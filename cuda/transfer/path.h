/*
 * Transfer paths: how the data of a piece gets to the memory that kernels
 * read, and from the memory that they write. Input and output have one each:
 *   zero-copy  kernels reach device memory, and pinned memory of small work
 *   DMA        the copy engines move pinned memory
 *   staged     the CPU moves pageable memory to or from pinned staging memory, which
 *              kernels access directly
 *   none       no input: kernels make a keystream, which the CPU combines with it
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_PATH_H
#define GPUAES_CUDA_TRANSFER_PATH_H

#include "cuda/device/device.h"

struct piece;
struct transfer;

enum path { PATH_NONE, PATH_ZERO_COPY, PATH_DMA, PATH_STAGED };

/* Plans the paths of the input and output; `needs`: what the stream set must have for them. */
void path_plan(struct transfer *transfer, struct stream_set_needs *needs);

/* Queues the input's copy of a piece. Kernels read at `*in`. */
drv_result path_move_in(const struct transfer *transfer, const struct slot *slot,
                        const struct piece *piece, drv_ptr *in);

/* The CPU's part, after the device's. */
void path_deliver(const struct transfer *transfer, const struct slot *slot,
                  const struct piece *piece);

#endif
