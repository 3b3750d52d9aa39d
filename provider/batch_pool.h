/*
 * Batches at hand: making one, and its growth, takes longer than many a launch.
 *
 * None that is here has a key. Any thread may call any of this. A forked child finds those
 * that were here when it was forked, and none that another thread had taken.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BATCH_POOL_H
#define GPUAES_BATCH_POOL_H

#include "../cuda/gpuaes.h"

/* One without messages; NULL where there is no memory. */
struct gpuaes_batch *batch_pool_take(void);

/* Waits until it is done, and cleanses its keys. NULL is ignored. */
void batch_pool_give(struct gpuaes_batch *batch);

/* Frees those that nobody has. */
void batch_pool_empty(void);

#endif
