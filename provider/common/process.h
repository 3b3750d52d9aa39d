/*
 * Which process this is, as forks go.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_PROCESS_H
#define GPUAES_PROVIDER_COMMON_PROCESS_H

/*
 * Returns the number of forks between the process that called this first and the caller's: what
 * was counted under another number is an ancestor's.
 */
unsigned process_generation(void);

#endif
