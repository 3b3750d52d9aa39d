/*
 * The self-test of GCM. It is made at the first use: a start is paid for by programs without GCM,
 * too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/gcm_check.h"

#include <string.h>

/* It takes all squarings of the others, and as many products. */
enum { CHECKED = GHASH_POWERS - 1 };

/* Waits in any case: DRV_OUT_OF_MEMORY is for what has left nothing under way. */
static drv_result make(struct device *device, const struct gpuaes_gcm_key *key,
                       const struct block *memory, const struct block *result, drv_stream stream)
{
    const struct driver *d = device->driver;
    drv_result r =
        kernels_launch_ghash_powers(d, &device->kernels, key, 1, memory->address, stream);
    if (r == DRV_SUCCESS)
        r = d->memcpy_dtoh_async(result->host, memory->address + CHECKED * GPUAES_BLOCK,
                                 GPUAES_BLOCK, stream);
    drv_result waited = device_wait(device, stream, NULL);
    if (waited == DRV_SUCCESS)
        return r;
    return waited == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : waited;
}

static drv_result make_elsewhere(struct device *device, const struct gpuaes_gcm_key *key,
                                 const struct block *memory, const struct block *result)
{
    drv_stream stream;
    drv_result r = device->driver->stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    if (r != DRV_SUCCESS)
        return r;
    r = make(device, key, memory, result, stream);
    (void)device->driver->stream_destroy(stream);
    return r;
}

static drv_result check(struct device *device, drv_stream stream, const struct block *memory,
                        const struct block *result)
{
    static const unsigned char any_key[GPUAES_BLOCK] = {1};
    struct gpuaes_gcm_key key;
    (void)gpuaes_gcm_key_expand(&key, any_key, sizeof any_key);
    struct ghash_element expected = ghash_power(&key, CHECKED);
    drv_result r = stream != NULL ? make(device, &key, memory, result, stream)
                                  : make_elsewhere(device, &key, memory, result);
    if (r != DRV_SUCCESS)
        return r;
    if (memcmp(result->host, &expected, sizeof expected) != 0) {
        (void)device_fault(device, "the self-test of GCM", DRV_UNKNOWN);
        return DRV_UNKNOWN;
    }
    atomic_store(&device->kernels.ghash_is_right, 1);
    return DRV_SUCCESS;
}

drv_result gcm_check(struct device *device, drv_stream stream)
{
    enum { RESULT_BYTES = 4096 }; /* a page, which is what can be pinned */
    const size_t bytes = KERNELS_POWERS_BYTES;
    struct block memory, result;
    if (atomic_load_explicit(&device->kernels.ghash_is_right, memory_order_relaxed))
        return DRV_SUCCESS;
    drv_result r = memory_pool_take(device, BLOCK_PINNED, RESULT_BYTES, RESULT_BYTES, &result);
    if (r != DRV_SUCCESS)
        return r;
    r = memory_pool_take(device, BLOCK_DEVICE, bytes, bytes, &memory);
    if (r == DRV_SUCCESS) {
        r = check(device, stream, &memory, &result);
        if (r == DRV_SUCCESS || r == DRV_OUT_OF_MEMORY) /* else it may be in use for ever */
            memory_pool_give(device, &memory);
    }
    if (r == DRV_SUCCESS || r == DRV_OUT_OF_MEMORY)
        memory_pool_give(device, &result);
    return r;
}
