/*
 * Launching of what messages of GCM have in batches besides their text.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels.h"

enum { WARP = 32, THREADS = 256, WARPS = 32 /* that each multiprocessor is to have */ };
enum { THREADS_OF_ALL = 2048 /* of a multiprocessor */ };
/* Blocks that a warp hashes: long ones are begun less often, short ones are there for every warp.
 */
enum { CHUNK_LEAST = 256, CHUNK_MOST = 2048 };

drv_result kernels_load_gcm_batch(const struct driver *driver, struct kernels *kernels)
{
    static const char *const names[] = {
        [GCM_BATCH_POWERS_KERNEL] = "gcm_batch_powers",
        [GCM_BATCH_HASH_KERNEL] = "gcm_batch_hash",
    };
    drv_result r = DRV_SUCCESS;
    for (int i = 0; i < GCM_BATCH_KERNELS && r == DRV_SUCCESS; i++)
        r = driver->module_get_function(&kernels->gcm_batch[i], kernels->module, names[i]);
    return r;
}

uint32_t kernels_gcm_batch_chunk(const struct kernels *kernels, uint32_t blocks)
{
    uint32_t each = blocks / (kernels->multiprocessors * WARPS);
    return each < CHUNK_LEAST ? CHUNK_LEAST : each < CHUNK_MOST ? each : CHUNK_MOST;
}

drv_result kernels_launch_gcm_batch(const struct driver *driver, const struct kernels *kernels,
                                    enum gcm_batch_kernel kernel,
                                    struct gcm_batch_arguments *arguments, drv_stream stream)
{
    unsigned threads = min_unsigned(THREADS, kernels->max_threads), most = UINT32_MAX, shared = 0;
    uint64_t wanted = (uint64_t)arguments->chunks * WARP;
    if (arguments->chunks == 0) { /* the device knows how many */
        wanted = UINT32_MAX;
        most = kernels->multiprocessors * (THREADS_OF_ALL / threads);
    }
    if (kernel == GCM_BATCH_POWERS_KERNEL) { /* it fills a table first */
        wanted = (uint64_t)arguments->key_count * WARP;
        most = kernels->multiprocessors * 4;
        shared = AES_SMALL_SHARED;
    }
    return kernels_launch(driver, kernels->gcm_batch[kernel],
                          min_unsigned((wanted + threads - 1) / threads, most), threads, shared,
                          stream, arguments);
}
