/*
 * Kernels of tests, launched by themselves on the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_BARE_KERNELS_H
#define GPUAES_TEST_BARE_KERNELS_H

#include "cuda/launch/kernels.h"

/*
 * Loads all kernels into *kernels, and allocates zeros in device memory, which the CPU of an
 * emulated device reads and writes as well. Returns their address, or NULL.
 */
void *bare_kernels_open(struct kernels *kernels, size_t bytes);

/*
 * Runs a kernel whose parameters are pointers, BARE_POINTERS at most. Returns 1 once it has ended
 * without a fault, 0 otherwise.
 */
enum { BARE_POINTERS = 5 };
int bare_kernel_run(const char *name, unsigned grid, unsigned threads, unsigned shared,
                    void *const pointers[BARE_POINTERS]);

#endif
