/*
 * The state of the library's device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/device_state.h"

enum gpuaes_state device_state(void)
{
    enum gpuaes_state (*state)(void);
    void *symbol = library_function("gpuaes_state");
    memcpy(&state, &symbol, sizeof state);
    return state();
}

int device_becomes(enum gpuaes_state wanted)
{
    for (int i = 0; i < 60000 && device_state() != wanted; i++)
        sleep_ms(1);
    return device_state() == wanted;
}
