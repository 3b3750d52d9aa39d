/*
 * Launching of the kernels that gather and expand keys in device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels.h"

enum { THREADS = 256, WAVES = 8 };

drv_result kernels_load_device_keys(const struct driver *driver, struct kernels *kernels)
{
    drv_result r =
        driver->module_get_function(&kernels->batch_expand, kernels->module, "aes_batch_expand");
    if (r != DRV_SUCCESS)
        return r;
    return driver->module_get_function(&kernels->device_keys_gather, kernels->module,
                                       "device_keys_gather");
}

/* A thread for each of `keys`, or one for some. */
static drv_result launch(const struct driver *driver, const struct kernels *kernels,
                         drv_function function, unsigned keys, unsigned shared, drv_stream stream,
                         void *arguments)
{
    const unsigned threads = min_unsigned(THREADS, kernels->max_threads);
    unsigned grid = min_unsigned((keys - 1) / threads + 1, kernels->multiprocessors * WAVES);
    return kernels_launch(driver, function, grid, threads, shared, stream, arguments);
}

drv_result kernels_launch_batch_expand(const struct driver *driver, const struct kernels *kernels,
                                       struct aes_batch_expand_arguments *arguments,
                                       drv_stream stream)
{
    return launch(driver, kernels, kernels->batch_expand, arguments->count, AES_SMALL_SHARED,
                  stream, arguments);
}

drv_result kernels_launch_device_keys_gather(const struct driver *driver,
                                             const struct kernels *kernels,
                                             struct device_keys_arguments *arguments,
                                             drv_stream stream)
{
    unsigned keys = arguments->count * (arguments->pairs ? 2 : 1);
    return launch(driver, kernels, kernels->device_keys_gather, keys, 0, stream, arguments);
}
