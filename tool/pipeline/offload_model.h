/*
 * Whether a GPU would be done sooner: a function of measured values alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_PIPELINE_OFFLOAD_MODEL_H
#define GPUAES_TOOL_PIPELINE_OFFLOAD_MODEL_H

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

/* Returns 1 if all is expected to be done sooner with a GPU, including its start, else 0. */
int offload_gains(const struct offload_figures *figures);

#endif
