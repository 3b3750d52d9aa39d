/*
 * Whether the work of a pipeline moves from the CPU to a GPU: chosen while it runs, from the times
 * of its own pieces.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_PIPELINE_OFFLOAD_H
#define GPUAES_TOOL_PIPELINE_OFFLOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tool/common/library.h"

/* What is known when it is chosen. */
struct offload_figures {
    double threads;
    double seconds; /* since the beginning */
    double bytes;   /* done by then, in so many pieces: */
    double pieces;
    double left;        /* bytes; below 0 if unknown */
    double offloadable; /* of the threads' seconds: what a GPU can take over */
    double waiting;     /* and what they waited for one another */
};

/*
 * Returns 1 if all is expected to be done sooner with a GPU, including its start, else 0: a
 * function of measured values alone.
 */
int offload_gains(const struct offload_figures *figures);

struct offload {
    const struct library *library;
    uint64_t total;    /* bytes; UINT64_MAX if unknown */
    atomic_int chosen; /* a GPU is to work */

    /* The rest is its own. */
    pthread_mutex_t lock;
    struct offload_figures figures; /* so far */
    double begun;
    double next_pieces; /* when it is looked at again */
};

/*
 * Call it before library_open(). Returns 1 where it is left to this command whether a device is
 * started, and 0 where the environment has said it, or where no device can do this work: then none
 * starts.
 */
int offload_measures(int is_for_device);

/*
 * `measures` is offload_measures(): where it is 0, or the provider is absent, the environment has
 * chosen, and `chosen` is 1 at once. Call it before the pipeline begins.
 */
void offload_begin(struct offload *offload, const struct library *library, int measures,
                   unsigned threads, uint64_t total);

/* A piece of so many bytes is done. The first time that a GPU is expected to gain, starts it. */
void offload_count(struct offload *offload, uint64_t bytes, double offloadable, double waiting);

int offload_is_chosen(const struct offload *offload);

#endif
