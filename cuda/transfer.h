/*
 * Transfers: a job cut into pieces, which go through the slots of a lane in
 * turn: copy in, kernel, copy out, each piece on its own stream, so that the
 * copies of one overlap the kernel of another and the work of the CPU.
 *
 * Where a piece's input and output are decides its route:
 *   pinned    the device's copy engines move it
 *   pageable  the CPU moves it to or from pinned staging memory; kernels write
 *             staging memory themselves
 *   device    used in place if it is aligned, else by a copy on the device
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TRANSFER_H
#define GPUAES_TRANSFER_H

#include "device.h"

struct piece {
    size_t number;
    size_t in_at, in_bytes;
    size_t out_at, out_bytes;
};

struct transfer {
    const unsigned char *in;
    unsigned char *out;
    size_t in_bytes, out_bytes;
    enum gpuaes_memory in_kind, out_kind;

    /* A piece is a multiple of in_unit bytes, which make out_unit bytes each;
     * only the job's last piece may be less. */
    size_t in_unit, out_unit;

    int apart;     /* kernels need input and output in different places */
    int keystream; /* kernels make a keystream; the CPU combines it with the input */
    int scattered; /* kernels write in small pieces: not for memory beyond the bus */
    size_t extra;  /* room for the job at the end of buffer[1] and of the staging memory */

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
 * Runs all of it on a lane of its own, with the device entered. See
 * gpuaes_aes() for what the statuses promise.
 */
enum gpuaes_status transfer_run(struct device *device, struct transfer *transfer, unsigned flags);

#endif
