/*
 * The self-test of GCM. It is made at the first use: a start is paid for by programs without GCM,
 * too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/gcm_check.h"

#include <string.h>

#include "cuda/aes/ghash.h"

/* It takes all squarings of the others, and as many products. */
enum { CHECKED = GHASH_POWERS - 1 };

static drv_result make(struct device *device, const struct gpuaes_gcm_key *key,
                       const struct kernels_scratch *scratch, drv_stream stream,
                       unsigned char *result)
{
    const struct driver *d = device->driver;
    drv_ptr powers;
    drv_result r = kernels_launch_ghash_powers(d, &device->kernels, key, scratch, stream, &powers);
    if (r == DRV_SUCCESS)
        r = d->memcpy_dtoh_async(result, powers + CHECKED * GPUAES_BLOCK, GPUAES_BLOCK, stream);
    return r == DRV_SUCCESS ? device_wait(device, stream, NULL) : r;
}

drv_result gcm_check(struct device *device, const struct kernels_scratch *scratch,
                     drv_stream stream, unsigned char *result)
{
    static const unsigned char any_key[GPUAES_BLOCK] = {1};
    struct gpuaes_gcm_key key;
    if (atomic_load_explicit(&device->kernels.ghash_is_right, memory_order_relaxed))
        return DRV_SUCCESS;
    (void)gpuaes_gcm_key_expand(&key, any_key, sizeof any_key);
    struct ghash_element expected = ghash_power(&key, CHECKED);
    drv_result r = make(device, &key, scratch, stream, result);
    if (r != DRV_SUCCESS)
        return r;
    if (memcmp(result, &expected, sizeof expected) != 0) {
        (void)device_fault(device, "the self-test of GCM", DRV_UNKNOWN);
        return DRV_UNKNOWN;
    }
    atomic_store(&device->kernels.ghash_is_right, 1);
    return DRV_SUCCESS;
}
