/*
 * Transfers: a shard of a call cut into pieces, which go through the slots of a stream set in
 * turn: copy in, kernel, copy out, each piece on its own stream, so that the
 * copies of one overlap the kernel of another and the work of the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_TRANSFER_H
#define GPUAES_CUDA_TRANSFER_TRANSFER_H

#include "cuda/device/device.h"
#include "cuda/memory/memory_kind.h"

struct piece {
    size_t number;
    size_t in_at, in_bytes;
    size_t out_at, out_bytes;
};

struct transfer {
    const unsigned char *in;
    unsigned char *out;
    size_t in_bytes, out_bytes;
    struct memory in_memory, out_memory;

    /* A piece is a multiple of in_unit bytes, which make out_unit bytes each;
     * only the job's last piece may be less. */
    size_t in_unit, out_unit;

    int out_of_place; /* kernels are faster out of place */
    int keystream;    /* kernels make a keystream, which the CPU combines with the input */
    size_t extra;     /* bytes at the end of the staging memory that are the mode's own */

    /* Device memory that a launch of so many bytes wants in slot->scratch, with input
     * and output in the same place or not. NULL: none. */
    size_t (*scratch)(const struct transfer *transfer, const struct device *device, size_t in_bytes,
                      int same);
    /* Queues the kernels of a piece. Called in the order of the pieces, before
     * anything overwrites the input of this one. `in` is 0 for a keystream. */
    drv_result (*launch)(struct transfer *transfer, struct device *device, struct slot *slot,
                         const struct piece *piece, drv_ptr in, drv_ptr out);
    /* Called in the order of the pieces as their output becomes complete; may
     * refuse (a status other than OK ends the transfer). NULL: nothing to do. */
    enum gpuaes_status (*finished)(struct transfer *transfer, struct slot *slot,
                                   const struct piece *piece);

    /* Result: how much of the input is done, from the beginning. */
    size_t in_done;
};

/*
 * Runs all of it on a stream set of its own, with the device entered. See
 * gpuaes_aes() for what the statuses promise.
 */
enum gpuaes_status transfer_run(struct device *device, struct transfer *transfer, unsigned flags);

#endif
