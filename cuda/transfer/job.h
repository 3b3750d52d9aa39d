/*
 * Jobs (struct work): one call of the library, cut into shards (struct part) for several
 * devices and threads.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_JOB_H
#define GPUAES_CUDA_TRANSFER_JOB_H

#include "cuda/memory/memory_kind.h"

struct part {
    size_t at, bytes, done; /* of the input */
    struct device *device;
    enum gpuaes_status status;
};

struct work {
    const unsigned char *in;
    unsigned char *out;
    size_t in_bytes, out_bytes;
    size_t in_unit, out_unit; /* as of a transfer; parts begin at multiples */
    unsigned flags;
    int whole; /* not to be cut where the input is device memory */

    /* Called once, with the parts known, before anything is written. NULL: nothing to do. */
    void (*begin)(struct work *work);
    /* Runs the unfinished rest of a part, with its device entered; raises `done`. */
    enum gpuaes_status (*run)(struct work *work, unsigned number);

    struct memory in_memory, out_memory;
    unsigned threads; /* that may move it, where it is pageable */
    unsigned parts;
    struct part part[GPUAES_PARTS]; /* set up to `parts` */
};

/*
 * Runs all of it. A part whose device fails is done by another one. OK only if
 * all parts are; else the worst status, and `done` of each part says how far it
 * got; with no parts nothing was begun.
 */
enum gpuaes_status work_run(struct work *work);

/* The size of the output that belongs to so much input, a multiple of in_unit or all. */
size_t work_out_bytes(const struct work *work, size_t in_bytes);

#endif
