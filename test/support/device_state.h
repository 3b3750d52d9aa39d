/*
 * The state of the library's device, as the test's process sees it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_DEVICE_STATE_H
#define GPUAES_TEST_DEVICE_STATE_H

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/tap.h"

enum gpuaes_state device_state(void);

/* Waits for a state, a minute at most. Returns 1 if it came. */
int device_becomes(enum gpuaes_state wanted);

#endif
