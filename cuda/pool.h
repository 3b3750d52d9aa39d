/*
 * Helper threads: created when first needed, kept for ever, never joined. All
 * their signals are blocked.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_POOL_H
#define GPUAES_POOL_H

/*
 * Runs run(arg, 0) to run(arg, count - 1), each once, on the calling thread and
 * on helpers, and returns when all have returned. Where helpers are busy or
 * cannot be created, the calling thread does their part.
 */
void pool_run(void (*run)(void *arg, unsigned number), void *arg, unsigned count);

#endif
