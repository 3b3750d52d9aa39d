/*
 * Launching of the kernel that gathers keys in device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels.h"

enum { THREADS = 256, WAVES = 8 };

drv_result kernels_load_device_keys(const struct driver *driver, struct kernels *kernels)
{
    return driver->module_get_function(&kernels->device_keys_gather, kernels->module,
                                       "device_keys_gather");
}

drv_result kernels_launch_device_keys_gather(const struct driver *driver,
                                             const struct kernels *kernels,
                                             struct device_keys_arguments *arguments,
                                             drv_stream stream)
{
    const unsigned threads = min_unsigned(THREADS, kernels->max_threads);
    unsigned keys = arguments->count * (arguments->pairs ? 2 : 1);
    unsigned grid = min_unsigned((keys - 1) / threads + 1, kernels->multiprocessors * WAVES);
    return kernels_launch(driver, kernels->device_keys_gather, grid, threads, 0, stream, arguments);
}
