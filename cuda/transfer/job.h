/*
 * Jobs (struct job): one call of the library, cut into shards (struct shard) for several
 * devices and threads.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_JOB_H
#define GPUAES_CUDA_TRANSFER_JOB_H

#include "cuda/memory/memory_kind.h"

struct shard {
    size_t at, bytes, done; /* of the input */
    struct device *device;
    enum gpuaes_status status;
};

struct job {
    const unsigned char *in;
    unsigned char *out;
    size_t in_bytes, out_bytes;
    size_t in_unit, out_unit; /* as of a transfer; shards begin at multiples */
    unsigned flags;
    int whole; /* not to be cut where the input is device memory */

    /* Called once, with the shards known, before anything is written. NULL: nothing to do. */
    void (*begin)(struct job *job);
    /* Runs the unfinished rest of a shard, with its device entered; raises `done`. */
    enum gpuaes_status (*run)(struct job *job, unsigned number);

    struct memory in_memory, out_memory;
    unsigned threads; /* that may move it, where it is pageable */
    unsigned shards;
    struct shard shard[GPUAES_SHARDS]; /* set up to `shards` */
};

/*
 * Runs all of it. A shard whose device fails is done by another one. OK only if
 * all shards are; else the worst status, and `done` of each shard says how far it
 * got; with no shards nothing was begun.
 */
enum gpuaes_status job_run(struct job *job);

/* The size of the output that belongs to so much input, a multiple of in_unit or all. */
size_t job_out_bytes(const struct job *job, size_t in_bytes);

#endif
