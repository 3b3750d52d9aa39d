/*
 * Devices and sizes in words.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_DESCRIBE_H
#define GPUAES_TOOL_COMMON_DESCRIBE_H

#include <stddef.h>

#include "cuda/gpuaes.h"

enum { DESCRIBE_TEXT = 160 };

void describe_device(const struct gpuaes_device_info *device, char text[DESCRIBE_TEXT]);

/* "64 KiB", "1 MiB"; in the largest unit that has a whole number of them. */
void describe_bytes(size_t bytes, char text[DESCRIBE_TEXT]);

#endif
