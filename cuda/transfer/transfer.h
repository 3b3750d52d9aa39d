/*
 * Transfers: what is left of a shard, cut into pieces, which go through the slots of a stream set
 * in turn: copy in, kernel, copy out, each piece on its own stream, so that the
 * copies of one overlap the kernel of another and the work of the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_TRANSFER_H
#define GPUAES_CUDA_TRANSFER_TRANSFER_H

#include "cuda/transfer/job.h"

/*
 * Transfer paths: how the data of a piece gets to the memory that kernels read, and from the
 * memory that they write. Input and output have one each:
 *   none       no input: kernels make a keystream, which the CPU combines with it
 *   zero-copy  kernels reach device memory, and pinned memory of small work
 *   DMA        the copy engines move pinned memory
 *   staged     the CPU moves pageable memory to or from pinned staging memory, which
 *              kernels access directly
 */
enum path { PATH_NONE, PATH_ZERO_COPY, PATH_DMA, PATH_STAGED };

struct piece {
    size_t in_at, in_bytes; /* from the transfer's beginning */
    size_t out_at, out_bytes;
    int writes_out;                   /* a write to the caller's output has been queued */
    int queued;                       /* all of its work has been */
    unsigned char last[GPUAES_BLOCK]; /* AES: the last block of input, where a mode keeps it */
};

struct transfer {
    const struct job *job;
    struct shard *shard;
    const unsigned char *in; /* for the CPU, and where kernels reach it */
    unsigned char *out;
    drv_ptr in_address, out_address;
    size_t in_bytes, out_bytes;
    unsigned char iv[GPUAES_BLOCK]; /* AES: of the next piece */

    enum path in_path, out_path;
    size_t piece_units;
    int out_in_second; /* kernels write buffer[1] */
    size_t staging;    /* bytes of it that hold data */

    struct stream_set *set;
    unsigned slots;
    struct piece piece[STREAM_SET_SLOTS]; /* under way: number n is in slot n % slots */
    size_t pieces, submitted, finished;
};

/*
 * Runs the unfinished rest of a shard on a stream set of its own, with the device entered; raises
 * `done`. See gpuaes_aes() for what the statuses promise.
 */
enum gpuaes_status transfer_run(const struct job *job, struct shard *shard);

/* ---- path.c ---- */

/* Plans the paths of the input and output; `needs`: what the stream set must have for them. */
void path_plan(struct transfer *transfer, struct stream_set_needs *needs);

/* Queues the input's copy of a piece. Kernels read at `*in`. */
drv_result path_move_in(const struct transfer *transfer, const struct slot *slot,
                        const struct piece *piece, drv_ptr *in);

/* The CPU's part, after the device's. */
void path_deliver(const struct transfer *transfer, const struct slot *slot,
                  const struct piece *piece);

#endif
