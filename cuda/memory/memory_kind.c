/*
 * Kinds of memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/memory/memory_kind.h"

#include "cuda/runtime/runtime.h"

enum { ATTRIBUTES = 7 };

struct range {
    unsigned type;
    int managed;
    int ordinal;
    drv_ptr start, address;
    size_t bytes;
    drv_context context;
};

static drv_result query(const struct driver *driver, const void *p, struct range *range)
{
    int attributes[ATTRIBUTES] = {
        DRV_POINTER_MEMORY_TYPE,    DRV_POINTER_IS_MANAGED, DRV_POINTER_DEVICE_ORDINAL,
        DRV_POINTER_RANGE_START,    DRV_POINTER_RANGE_SIZE, DRV_POINTER_CONTEXT,
        DRV_POINTER_DEVICE_POINTER,
    };
    *range = (struct range){0};
    void *values[ATTRIBUTES] = {&range->type,  &range->managed, &range->ordinal, &range->start,
                                &range->bytes, &range->context, &range->address};
    return driver->pointer_get_attributes(ATTRIBUTES, attributes, values, memory_address(p));
}

/* All of `len` bytes at `p`. */
static int holds(const struct range *range, const void *p, size_t len)
{
    return memory_address(p) >= range->start && len <= range->bytes &&
           memory_address(p) - range->start <= range->bytes - len;
}

/* The device that works on a device or managed range. */
static struct device *find_owner(struct device *entered, const struct range *range)
{
    struct device *owner = runtime_device_of(range->ordinal);
    if (range->managed)
        return owner != NULL ? owner : entered;
    /* Memory of a pool or of no context at all is every context's. */
    if (owner != NULL && range->context != NULL && range->context != owner->context)
        return NULL;
    return owner;
}

enum gpuaes_status memory_look(struct device *entered, const void *p, size_t len,
                               struct memory *memory)
{
    struct range range;
    *memory = (struct memory){.kind = GPUAES_PAGEABLE};
    drv_result r = query(entered->driver, p, &range);
    if (r != DRV_SUCCESS)
        return device_fault(entered, "cuPointerGetAttributes", r);
    if (range.type == 0)
        return GPUAES_OK;
    int whole = holds(&range, p, len);
    /* What another device's context would say of device memory is 0. */
    memory->address = range.type == DRV_MEMORY_HOST ? range.address : memory_address(p);
    memory->begin = range.start;
    if (range.managed || range.type == DRV_MEMORY_DEVICE) {
        if (!whole)
            return range.managed ? GPUAES_OK : GPUAES_BAD_RANGE;
        /* The CPU cannot read another device's memory, nor can our kernels. */
        memory->managed = range.managed;
        memory->owner = find_owner(entered, &range);
        memory->kind = memory->owner != NULL ? GPUAES_DEVICE : GPUAES_FOREIGN;
        memory->bytes = range.bytes;
    } else if (whole) {
        memory->kind = GPUAES_PINNED;
        memory->bytes = range.bytes;
    }
    return GPUAES_OK;
}

enum gpuaes_status memory_reach(struct device *device, const void *p, size_t len,
                                struct memory *memory)
{
    enum gpuaes_status status = memory_look(device, p, len, memory);
    int reached = memory->kind == GPUAES_PINNED ||
                  (memory->kind == GPUAES_DEVICE && (memory->managed || memory->owner == device));
    return status == GPUAES_OK && !reached ? GPUAES_BAD_RANGE : status;
}

enum gpuaes_status memory_device(const struct memory *in, const struct memory *out,
                                 struct device *fallback, struct device **device)
{
    if (in->kind == GPUAES_FOREIGN || out->kind == GPUAES_FOREIGN)
        return GPUAES_BAD_RANGE;
    const struct memory *first = in, *second = out;
    if (in->owner == NULL || (in->managed && out->owner != NULL)) {
        first = out;
        second = in;
    }
    if (second->owner != NULL && !second->managed && second->owner != first->owner)
        return GPUAES_BAD_ARGUMENT;
    *device = first->owner != NULL ? first->owner : fallback;
    return GPUAES_OK;
}

/* No device is in use: what the application has on one is foreign. */
static enum gpuaes_memory kind_to_application(const void *p, size_t len)
{
    struct runtime_guard guard;
    struct range range;
    const struct driver *driver = application_enter(&guard);
    if (driver == NULL)
        return GPUAES_PAGEABLE;
    int known = query(driver, p, &range) == DRV_SUCCESS && range.type != 0;
    application_leave(&guard, driver);
    if (known && range.type == DRV_MEMORY_DEVICE && !range.managed)
        return GPUAES_FOREIGN;
    if (!known || !holds(&range, p, len))
        return GPUAES_PAGEABLE;
    return range.managed ? GPUAES_FOREIGN : GPUAES_PINNED;
}

enum gpuaes_memory gpuaes_memory_kind(const void *p, size_t len)
{
    struct runtime_guard guard;
    struct memory memory;
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL)
        return kind_to_application(p, len);
    enum gpuaes_status status = memory_look(device, p, len, &memory);
    runtime_leave_device(&guard, device);
    if (status == GPUAES_BAD_RANGE)
        return GPUAES_FOREIGN;
    return status == GPUAES_OK ? memory.kind : kind_to_application(p, len);
}
