/*
 * Launching of the kernels of messages, which arrays in device memory describe.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_LAUNCH_KERNELS_MESSAGE_H
#define GPUAES_CUDA_LAUNCH_KERNELS_MESSAGE_H

#include "cuda/launch/kernels.h"

/* A part of kernels_load(); `shared` is what a block may have. */
drv_result kernels_load_message(const struct driver *driver, struct kernels *kernels, int shared);

/*
 * Returns the temporary memory that a launch of `count` messages of up to max_bytes takes at most
 * on any device.
 */
size_t kernels_message_temp_bytes(enum gpuaes_op op, size_t count, size_t max_bytes);

/*
 * How messages are launched: whether with a plan, and the temporary memory that it takes, 0
 * without. Fills `segment`, `least_part`, `segments` and `per_block` of the arguments, whose
 * arrays, `count` and `max_bytes` are set. total_bytes is of all messages, 0 where it is not known.
 */
struct message_shape {
    struct kernels_shape kernel;
    unsigned rounds;
    int is_planned;
    size_t temp_bytes;
};
struct message_shape kernels_message_shape(const struct kernels *kernels, enum gpuaes_op op,
                                           unsigned rounds, uint64_t total_bytes,
                                           struct message_arguments *arguments);

/* Queues the messages. The temporary memory, aligned to 256, has shape->temp_bytes. */
drv_result kernels_launch_message(const struct driver *driver, const struct kernels *kernels,
                                  const struct message_shape *shape,
                                  struct message_arguments *arguments, drv_ptr temp,
                                  drv_stream stream);

#endif
