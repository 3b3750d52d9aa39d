/*
 * Loading and launching of the kernels of random numbers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels.h"

enum {
    WARP = 32,
    SMALL_THREADS = 256,
    LARGE_THREADS = 1024,
    SMALL_SHARED = AES_SMALL_SHARED + RANDOM_KEY_SHARED,
    LARGE_SHARED = AES_LARGE_SHARED + RANDOM_KEY_SHARED
};

drv_result kernels_load_random(const struct driver *driver, struct kernels *kernels, int shared)
{
    drv_result r =
        kernels_find(driver, kernels, "random_small", SMALL_SHARED, &kernels->random_small);
    if (r != DRV_SUCCESS || shared < LARGE_SHARED)
        return r;
    return kernels_find(driver, kernels, "random_large", LARGE_SHARED, &kernels->random_large);
}

/* As for CTR, of which this is a part: see struct gpuaes_mode. */
static int is_large(const struct kernels *kernels, uint64_t blocks)
{
    uint64_t threads = (uint64_t)kernels->multiprocessors * kernels->max_threads;
    if (kernels->random_large == NULL)
        return 0;
    if (kernels->forced != KERNEL_SIZES)
        return kernels->forced != KERNEL_SMALL;
    return blocks >= threads * gpuaes_ctr.tables_from;
}

drv_result kernels_launch_random(const struct driver *driver, const struct kernels *kernels,
                                 struct random_arguments *arguments, drv_stream stream)
{
    int large = is_large(kernels, arguments->blocks);
    unsigned threads = min_unsigned(large ? LARGE_THREADS : SMALL_THREADS, kernels->max_threads);
    unsigned most = large ? kernels->multiprocessors : kernels_most_blocks(kernels);
    /* A warp of the large kernel takes 256 blocks at a time. */
    uint64_t workers = large ? (arguments->blocks / 256 + 2) * WARP : arguments->blocks;
    unsigned grid = min_unsigned((workers + threads - 1) / threads, most);
    return kernels_launch(driver, large ? kernels->random_large : kernels->random_small, grid,
                          threads, large ? LARGE_SHARED : SMALL_SHARED, stream, arguments);
}
