/*
 * Jobs: one call of the library, cut into shards for several devices and threads.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_JOB_H
#define GPUAES_CUDA_TRANSFER_JOB_H

#include "cuda/memory/memory_kind.h"

struct job;
struct piece;
struct transfer;

/* What jobs of one kind do with their data: AES, Base64 encoding or decoding. NULL: nothing. */
struct transform {
    /* Sets what the shards begin with; called once, before anything is written. */
    void (*begin)(struct job *job);
    /* Returns the bytes at the end of the staging memory that are its own. */
    size_t (*extra)(const struct transfer *transfer);
    /* Returns the device memory that a launch of so many bytes wants in slot->scratch, with input
     * and output in the same place or not. */
    size_t (*scratch)(const struct transfer *transfer, size_t in_bytes, int same);
    /* Queues the kernels of a piece. Called in the order of the pieces, before
     * anything overwrites the input of this one. `in` is 0 for a keystream. */
    drv_result (*launch)(struct transfer *transfer, struct slot *slot, struct piece *piece,
                         drv_ptr in, drv_ptr out);
    /* Called in the order of the pieces as their output becomes complete; a status other than OK
     * ends the transfer. */
    enum gpuaes_status (*finished)(struct transfer *transfer, const struct slot *slot,
                                   const struct piece *piece);
};

struct shard {
    size_t at, bytes, done; /* of the input */
    struct device *device;
    enum gpuaes_status status;
    unsigned char iv[GPUAES_BLOCK]; /* AES: continues the stream after what is done */
    size_t bad;                     /* Base64: offset in the input of a wrong character */
};

struct job {
    const struct transform *transform;
    const unsigned char *in;
    unsigned char *out;
    size_t in_bytes, out_bytes;
    /* A piece is a multiple of in_unit bytes, which make out_unit bytes each; only the job's last
     * piece may be less. */
    size_t in_unit, out_unit;
    unsigned flags;
    int out_of_place; /* kernels are faster out of place */
    int whole;        /* not to be cut where the input is device memory */
    int keystream;    /* kernels can make a keystream, which the CPU combines with the input */

    enum gpuaes_op op; /* AES */
    const struct gpuaes_key *key;
    const unsigned char *iv;
    uint32_t line_length; /* Base64 encoding */

    struct memory in_memory, out_memory; /* from here on: set by job_run() */
    unsigned shards;
    struct shard *shard; /* the caller's, GPUAES_SHARDS of them; set up to `shards` */
};

/*
 * Runs all of it. A shard whose device fails is done by another one. OK only if
 * all shards are; else the worst status, and `done` of each shard says how far it
 * got; with no shards nothing was begun.
 */
enum gpuaes_status job_run(struct job *job);

/* Returns 1 if either side is device memory: then one device can do it, and no other. */
int job_is_on_device(const struct job *job);

#endif
