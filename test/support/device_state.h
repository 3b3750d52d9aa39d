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

static inline enum gpuaes_state device_state(void)
{
    enum gpuaes_state (*state)(void);
    void *symbol = library_function("gpuaes_state");
    memcpy(&state, &symbol, sizeof state);
    return state();
}

/* Waits for a state, a minute at most. Returns 1 if it came. */
static inline int device_becomes(enum gpuaes_state wanted)
{
    for (int i = 0; i < 60000 && device_state() != wanted; i++)
        sleep_ms(1);
    return device_state() == wanted;
}

#endif
