/*
 * Launching of what reads the application's descriptions of messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels.h"

enum { THREADS = 256, WAVES = 8 };

drv_result kernels_load_device_batch(const struct driver *driver, struct kernels *kernels)
{
    static const char *const names[] = {
        [DEVICE_BATCH_READ_KERNEL] = "device_batch_read",
        [DEVICE_BATCH_PLACE_KERNEL] = "device_batch_place",
        [DEVICE_BATCH_XTS_KERNEL] = "xts_batch_begin",
        [DEVICE_BATCH_CLEAR_KERNEL] = "device_batch_clear",
        [DEVICE_KEYS_GATHER_KERNEL] = "device_keys_gather",
    };
    drv_result r = DRV_SUCCESS;
    for (int i = 0; i < DEVICE_BATCH_KERNELS && r == DRV_SUCCESS; i++)
        r = driver->module_get_function(&kernels->device_batch[i], kernels->module, names[i]);
    return r;
}

unsigned kernels_device_batch_tile(const struct kernels *kernels)
{
    return min_unsigned(THREADS, kernels->max_threads);
}

drv_result kernels_launch_device_batch(const struct driver *driver, const struct kernels *kernels,
                                       enum device_batch_kernel kernel,
                                       struct device_batch_arguments *arguments, drv_stream stream)
{
    const unsigned threads = kernels_device_batch_tile(kernels);
    unsigned tiles = (arguments->gcm.count - 1) / threads + 1;
    unsigned shared = threads * (unsigned)sizeof(uint32_t);
    unsigned grid = min_unsigned(tiles, kernels->multiprocessors * WAVES);
    if (kernel == DEVICE_BATCH_READ_KERNEL || kernel == DEVICE_BATCH_XTS_KERNEL) {
        grid = tiles;
        shared += AES_SMALL_SHARED;
    }
    arguments->tile = threads;
    return kernels_launch(driver, kernels->device_batch[kernel], grid, threads, shared, stream,
                          arguments);
}

drv_result kernels_launch_device_keys_gather(const struct driver *driver,
                                             const struct kernels *kernels,
                                             struct device_keys_arguments *arguments,
                                             drv_stream stream)
{
    const unsigned threads = kernels_device_batch_tile(kernels);
    unsigned keys = arguments->count * (arguments->pairs ? 2 : 1);
    unsigned grid = min_unsigned((keys - 1) / threads + 1, kernels->multiprocessors * WAVES);
    return kernels_launch(driver, kernels->device_batch[DEVICE_KEYS_GATHER_KERNEL], grid, threads,
                          0, stream, arguments);
}
