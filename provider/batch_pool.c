/*
 * Batches at hand.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "batch_pool.h"

#include <stdatomic.h>
#include <stddef.h>

/* As many as a device works on at once. */
enum { POOL = 8 };

static _Atomic(struct gpuaes_batch *) pool[POOL];

static struct gpuaes_batch *take(void)
{
    for (int i = 0; i < POOL; i++) {
        struct gpuaes_batch *batch = NULL;
        if (atomic_load_explicit(&pool[i], memory_order_relaxed) != NULL)
            batch = atomic_exchange(&pool[i], NULL);
        if (batch != NULL)
            return batch;
    }
    return NULL;
}

struct gpuaes_batch *batch_pool_take(void)
{
    struct gpuaes_batch *batch = take();
    if (batch == NULL)
        (void)gpuaes_batch_open(&batch);
    return batch;
}

void batch_pool_give(struct gpuaes_batch *batch)
{
    if (batch == NULL)
        return;
    gpuaes_batch_forget(batch);
    for (int i = 0; i < POOL; i++) {
        struct gpuaes_batch *none = NULL;
        if (atomic_compare_exchange_strong(&pool[i], &none, batch))
            return;
    }
    gpuaes_batch_close(batch);
}

void batch_pool_empty(void)
{
    struct gpuaes_batch *batch;
    while ((batch = take()) != NULL)
        gpuaes_batch_close(batch);
}
