/*
 * Calls of libgpuaes that may call the driver, from wherever we are called.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_BIG_STACK_H
#define GPUAES_PROVIDER_COMMON_BIG_STACK_H

#include "cuda/gpuaes.h"

/* Returns 1 if run_on_big_stack() would create a thread here, 0 otherwise. */
int big_stack_needs_thread(void);

/*
 * Calls function(arg), and returns its status. Where the caller's stack has no room for the driver,
 * a new thread makes the call and the caller waits for it. NO_MEMORY also where that thread could
 * not be created: then nothing was called. With GPUAES_WAIT in `flags`, a device that was released,
 * being idle, is started again, and the call repeated.
 */
typedef enum gpuaes_status big_stack_fn(void *arg);
enum gpuaes_status run_on_big_stack(big_stack_fn *function, void *arg, unsigned flags);

#endif
