/*
 * A device's memory pool: memory that is kept rather than freed. cuMemFree() and cuMemFreeHost()
 * wait for all work of their context, that of the application included: a kernel of it that runs
 * for long, or until the caller does something else, would hold an update up. So nothing is freed
 * while a device is in use: memory that has become too small, or has no owner any more, stays in
 * this pool for the next call that needs some, and is freed when the device is released.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DEVICE_MEMORY_POOL_H
#define GPUAES_CUDA_DEVICE_MEMORY_POOL_H

#include <pthread.h>

#include "cuda/driver/driver.h"

struct device;

struct block {
    unsigned char *host; /* of pinned memory; NULL: it is device memory */
    drv_ptr address;     /* as the device sees it */
    size_t bytes;
};

struct memory_pool {
    pthread_mutex_t lock; /* a leaf: no call of the driver is made under it */
    struct pooled_block *first;
};

void memory_pool_init(struct memory_pool *pool);

/*
 * Memory of `least` bytes or more: one of the pool that is not much larger, else a new one of
 * `wanted` bytes; where that is refused a new one of `least` bytes, then any of the pool.
 * The device is entered. DRV_OUT_OF_MEMORY also where the cap on pinned memory, for which
 * pooled memory counts, would be exceeded.
 */
enum block_kind { BLOCK_DEVICE, BLOCK_PINNED };
drv_result memory_pool_take(struct device *device, enum block_kind kind, size_t least,
                            size_t wanted, struct block *block);

/* Nothing is under way on it, and there is no secret in it. Makes no call of the driver. */
void memory_pool_give(struct device *device, const struct block *block);

/* Frees all of it, which may wait. The device is entered, and no other thread uses it. */
void memory_pool_free(struct device *device);

#endif
