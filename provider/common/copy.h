/*
 * Copies between host memory and device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_COPY_H
#define GPUAES_PROVIDER_COMMON_COPY_H

#include <stddef.h>

struct provider;

/* Copies, and waits for it. Returns 0 with an error raised if that fails. */
int device_copy(const struct provider *provider, void *to, const void *from, size_t bytes);

#endif
