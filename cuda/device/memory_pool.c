/*
 * Memory that is kept rather than freed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/device/memory_pool.h"

#include <stdint.h>
#include <stdlib.h>

#include "cuda/device/device.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"

/* Largest accepted ratio of pooled to requested size: large blocks are kept for large requests. */
enum { FIT = 4 };

struct pooled_block {
    struct pooled_block *next;
    struct block block;
};

void memory_pool_init(struct memory_pool *pool)
{
    (void)pthread_mutex_init(&pool->lock, NULL);
    pool->first = NULL;
}

/* The smallest of `least` to `most` bytes. */
static int take_pooled(struct memory_pool *pool, enum block_kind kind, size_t least, size_t most,
                       struct block *block)
{
    struct pooled_block **best = NULL;
    (void)pthread_mutex_lock(&pool->lock);
    for (struct pooled_block **link = &pool->first; *link != NULL; link = &(*link)->next) {
        if (best != NULL && (*best)->block.bytes == least)
            break;
        const struct block *each = &(*link)->block;
        if ((each->host != NULL) == (kind == BLOCK_PINNED) && each->bytes >= least &&
            each->bytes <= most && (best == NULL || each->bytes < (*best)->block.bytes))
            best = link;
    }
    struct pooled_block *found = best != NULL ? *best : NULL;
    if (found != NULL) {
        *best = found->next;
        *block = found->block;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    free(found);
    return found != NULL;
}

static drv_result allocate_pinned(const struct driver *d, struct block *block)
{
    void *p = NULL;
    drv_result r =
        d->mem_host_alloc(&p, block->bytes, DRV_HOST_ALLOC_PORTABLE | DRV_HOST_ALLOC_MAPPED);
    if (r != DRV_SUCCESS)
        statistics_give_pinned(block->bytes);
    block->host = p;
    return r;
}

/* A driver that is short of memory counts as a fault, also where less of it will do. */
static drv_result allocate(const struct driver *d, enum block_kind kind, size_t bytes,
                           struct block *block)
{
    *block = (struct block){.bytes = bytes};
    if (kind == BLOCK_PINNED && !statistics_take_pinned(bytes, settings_in_force()->pinned_bytes))
        return DRV_OUT_OF_MEMORY;
    drv_result r =
        kind == BLOCK_PINNED ? allocate_pinned(d, block) : d->mem_alloc(&block->address, bytes);
    if (r == DRV_OUT_OF_MEMORY)
        statistics_count(STATISTIC_FAULTS, 1);
    return r;
}

drv_result memory_pool_take(struct device *device, enum block_kind kind, size_t least,
                            size_t wanted, struct block *block)
{
    const struct driver *d = device->driver;
    drv_result r = DRV_SUCCESS;
    if (!take_pooled(&device->pool, kind, least, least * FIT, block)) {
        r = allocate(d, kind, wanted, block);
        if (r == DRV_OUT_OF_MEMORY && wanted > least)
            r = allocate(d, kind, least, block);
        if (r == DRV_OUT_OF_MEMORY && take_pooled(&device->pool, kind, least, SIZE_MAX, block))
            r = DRV_SUCCESS;
    }
    if (r == DRV_SUCCESS && block->address == 0) {
        r = d->mem_host_get_device_pointer(&block->address, block->host, 0);
        if (r != DRV_SUCCESS) {
            statistics_count(STATISTIC_FAULTS, 1);
            block->address = 0;
            memory_pool_give(device, block); /* for another attempt */
        }
    }
    return r;
}

void memory_pool_give(struct device *device, const struct block *block)
{
    struct memory_pool *pool = &device->pool;
    struct pooled_block *pooled = malloc(sizeof *pooled);
    if (pooled == NULL) /* nobody has it until the context ends */
        return;
    pooled->block = *block;
    (void)pthread_mutex_lock(&pool->lock);
    pooled->next = pool->first;
    pool->first = pooled;
    (void)pthread_mutex_unlock(&pool->lock);
}

void memory_pool_free(struct device *device)
{
    const struct driver *d = device->driver;
    struct pooled_block *next;
    for (struct pooled_block *pooled = device->pool.first; pooled != NULL; pooled = next) {
        next = pooled->next;
        if (pooled->block.host == NULL) {
            (void)d->mem_free(pooled->block.address);
        } else {
            (void)d->mem_free_host(pooled->block.host);
            statistics_give_pinned(pooled->block.bytes);
        }
        free(pooled);
    }
    device->pool.first = NULL;
    (void)pthread_mutex_destroy(&device->pool.lock);
}
