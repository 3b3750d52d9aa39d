/*
 * What emulator_test.cc passes to the kernels of emulator_kernels.cu.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_EMULATOR_KERNELS_H
#define GPUAES_TEST_EMULATOR_KERNELS_H

#include <stdint.h>

struct test_arguments {
    uint64_t in, out;
    uint64_t words;
    uint32_t number;
};

#endif
