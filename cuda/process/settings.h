/*
 * The settings in force: what gpuaes_configure() was called with, merged, until the first start
 * fixes them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_SETTINGS_H
#define GPUAES_CUDA_PROCESS_SETTINGS_H

#include <time.h>

#include "cuda/gpuaes.h"

/* Puts defaults in the place of zeros; from then on no call changes anything. */
void settings_fix(void);

/*
 * Returns the settings, which are constant after settings_fix(). Of `threads`, 0 means that each
 * update chooses.
 */
const struct gpuaes_settings *settings_in_force(void);

/* Returns timeout_ms in nanoseconds. */
int64_t settings_timeout_ns(void);

/* Returns the time of CLOCK_MONOTONIC, which nobody sets, that is timeout_ms from now. */
struct timespec settings_deadline(void);

#endif
