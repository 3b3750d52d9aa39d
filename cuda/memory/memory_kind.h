/*
 * The kind of memory at a pointer, as the driver knows it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_MEMORY_MEMORY_KIND_H
#define GPUAES_CUDA_MEMORY_MEMORY_KIND_H

#include "cuda/device/device.h"

struct memory {
    enum gpuaes_memory kind;
    struct device *owner; /* of DEVICE memory */
    int managed;          /* other devices reach it, too */
    drv_ptr address;      /* of memory that kernels reach: as they see it */
    drv_ptr begin;        /* the allocation or registration that it lies in, for the CPU, */
    size_t bytes;         /* and its size; 0 of pageable memory */
};

/*
 * Looks at a range, with any device entered. BAD_RANGE if it begins in a device
 * allocation and ends outside of it.
 */
enum gpuaes_status memory_look(struct device *entered, const void *p, size_t len,
                               struct memory *memory);

/*
 * Looks at a range for work on a stream of the application on `device`, which is entered. BAD_RANGE
 * if the device does not reach it by itself.
 */
enum gpuaes_status memory_reach(struct device *device, const void *p, size_t len,
                                struct memory *memory);

/*
 * The one device that works on both: the owner of either, else `fallback`.
 * BAD_RANGE for FOREIGN memory, BAD_ARGUMENT where they have two owners.
 */
enum gpuaes_status memory_device(const struct memory *in, const struct memory *out,
                                 struct device *fallback, struct device **device);

static inline drv_ptr memory_address(const void *p)
{
    return (drv_ptr)(uintptr_t)p;
}

static inline int memory_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return memory_address(a) < memory_address(b) + b_bytes &&
           memory_address(b) < memory_address(a) + a_bytes;
}

#endif
