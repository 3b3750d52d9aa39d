/*
 * Threads of the library, never joined, with all their signals blocked. Helper threads are created
 * when first needed, and kept.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_THREAD_POOL_H
#define GPUAES_CUDA_PROCESS_THREAD_POOL_H

/* Begins run(NULL) in a thread of its own. Returns 0 if there is none. */
int thread_begin(void *(*run)(void *));

/*
 * Returns how many threads may move the data of one call where no number is set: up to four, and at
 * most half of the CPUs that the calling thread may use, but one. It asks the kernel each time,
 * since an application may change what its threads may use.
 */
unsigned thread_pool_automatic_threads(void);

/*
 * Runs run(arg, 0) to run(arg, count - 1), each once, on the calling thread and
 * on helpers, and returns when all have returned. Where helpers are busy or
 * cannot be created, the calling thread does their part. None is created while the
 * process has `most_helpers`.
 */
void thread_pool_run(void (*run)(void *arg, unsigned number), void *arg, unsigned count,
                     unsigned most_helpers);

#endif
