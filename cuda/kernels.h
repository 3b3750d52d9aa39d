/*
 * The kernels on a device: loading, choice by size, launch.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_H
#define GPUAES_KERNELS_H

#include "driver.h"
#include "gpuaes.h"
#include "kernels/arguments.h"

enum kernel_size { KERNEL_SMALL, KERNEL_LARGE, KERNEL_SIZES };
enum { KEY_SIZES = 3 }; /* 10, 12 and 14 rounds */

struct kernels {
    drv_module module;
    drv_function aes[GPUAES_OPS][KERNEL_SIZES][KEY_SIZES];
    drv_function base64_encode, base64_decode;
    unsigned multiprocessors;
    unsigned max_threads;
    int has_large; /* a block may have the shared memory of the large kernels */
};

/*
 * Loads every kernel, with the device's context current: launches later load
 * nothing. On an error nothing stays loaded.
 */
drv_result kernels_load(const struct driver *driver, drv_device device, struct kernels *kernels);

/* Queues one kernel; the arguments are copied. */
drv_result kernels_launch_aes(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, unsigned rounds, struct aes_arguments *arguments,
                              drv_stream stream);
drv_result kernels_launch_base64_encode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_encode_arguments *arguments,
                                        drv_stream stream);
drv_result kernels_launch_base64_decode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_decode_arguments *arguments,
                                        drv_stream stream);

#endif
