/*
 * A libcuda.so.1 without a function, whose code leaves a mark in the environment when it is
 * loaded: for driver_path_test.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

__attribute__((constructor)) static void leave_mark(void)
{
    (void)setenv("GPUAES_TEST_DRIVER_RAN", "1", 1);
}
