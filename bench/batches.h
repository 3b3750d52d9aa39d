/*
 * What the parts about batches share.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_BATCHES_H
#define GPUAES_BENCH_BATCHES_H

#include "bench/api.h"

/* Ends the program where a batch failed. */
void batch_check(enum gpuaes_status status);

/* A mixed payload in several orders: rows of the part batch-mixed. */
void batch_mixed_rows(const struct device_memory *memory);

#endif
