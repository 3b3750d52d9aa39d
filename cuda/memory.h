/*
 * Kinds of memory: what the driver knows about a pointer.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_MEMORY_H
#define GPUAES_MEMORY_H

#include "device.h"

/*
 * The kind of a range, with the device entered. BAD_RANGE if it begins in a
 * device allocation and ends outside of it.
 */
enum gpuaes_status memory_kind(struct device *device, const void *p, size_t len,
                               enum gpuaes_memory *kind);

static inline drv_ptr memory_address(const void *p)
{
    return (drv_ptr)(uintptr_t)p;
}

#endif
