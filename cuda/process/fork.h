/*
 * Knowing, cheaply, that this process is a fork of the one that started.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_FORK_H
#define GPUAES_CUDA_PROCESS_FORK_H

/* From now on, fork_is_child() is 1 in every process forked from this one. */
void fork_watch(void);

/* Costs a load or two; no system call. */
int fork_is_child(void);

#endif
