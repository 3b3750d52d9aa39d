/*
 * The names of the driver's functions, for tests that let each of them fail.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_DRIVER_FUNCTIONS_H
#define GPUAES_TEST_DRIVER_FUNCTIONS_H

#include "cuda/driver/driver.h"

static const char *const functions[] = {
#define FUNCTION_NAME(member, symbol, parameters) #member,
    DRIVER_FUNCTIONS(FUNCTION_NAME)
#undef FUNCTION_NAME
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

#endif
