/*
 * How a job is cut for several devices.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_SHARES_H
#define GPUAES_CUDA_TRANSFER_SHARES_H

#include <stddef.h>

/*
 * Cuts `bytes` into `count` shares, in proportion to `rates`, and sets the end of each: multiples
 * of `step`, but for the last, which is `bytes`. A rate of 0 is not known, and the shares are equal
 * then. A share is at least a quarter of an equal one, so that a slow device is measured again. Of
 * few bytes the last shares may be empty.
 */
void shares_cut(const unsigned *rates, unsigned count, size_t bytes, size_t step, size_t *ends);

#endif
