/*
 * Threads of the library.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_THREAD_H
#define GPUAES_CUDA_PROCESS_THREAD_H

/* Begins run(NULL) in a detached thread with all signals blocked. Returns 0 if there is none. */
int thread_begin(void *(*run)(void *));

#endif
