/*
 * Copies between memory of any kinds.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/minmax.h"
#include "cuda/memory/memory_kind.h"
#include "cuda/runtime/runtime.h"

/* Through the staging memory of a stream set, in pieces of its size. */
enum { COPY_PIECE = 256 << 10 };

static drv_result copy_piece(struct device *device, struct stream_set *set, unsigned char *to,
                             enum gpuaes_memory to_kind, const unsigned char *from,
                             enum gpuaes_memory from_kind, size_t len)
{
    const struct driver *d = device->driver;
    const struct slot *slot = &set->slots[0];
    drv_result r = DRV_SUCCESS;
    if (from_kind == GPUAES_DEVICE) {
        r = d->memcpy_dtoh_async(slot->staging, memory_address(from), len, slot->stream);
        if (r == DRV_SUCCESS)
            r = stream_set_wait(device, set, slot, NULL);
    } else {
        memcpy(slot->staging, from, len);
    }
    if (r != DRV_SUCCESS)
        return r;
    if (to_kind != GPUAES_DEVICE) {
        memcpy(to, slot->staging, len);
        return r;
    }
    r = d->memcpy_htod_async(memory_address(to), slot->staging, len, slot->stream);
    return r == DRV_SUCCESS ? stream_set_wait(device, set, slot, NULL) : r;
}

static enum gpuaes_status copy_through_staging(struct device *device, unsigned char *to,
                                               enum gpuaes_memory to_kind,
                                               const unsigned char *from,
                                               enum gpuaes_memory from_kind, size_t len)
{
    struct stream_set_needs needs = {.slots = 1, .staging = COPY_PIECE};
    struct stream_set *set = stream_set_take(device, STREAM_SET_CALL, GPUAES_WAIT);
    if (set == NULL)
        return stream_set_refusal(device);
    const struct slot *slot = &set->slots[0];
    drv_result r = stream_set_prepare(device, set, &needs);
    if (r == DRV_SUCCESS)
        r = stream_set_follow(device, set, needs.slots);
    /* The CPU copies pinned memory, and must wait for work that is queued on it. */
    if (r == DRV_SUCCESS && (to_kind == GPUAES_PINNED || from_kind == GPUAES_PINNED))
        r = stream_set_wait(device, set, slot, NULL);
    for (size_t at = 0; at < len && r == DRV_SUCCESS; at += COPY_PIECE) {
        size_t n = min_u64(len - at, COPY_PIECE);
        r = copy_piece(device, set, to + at, to_kind, from + at, from_kind, n);
    }
    enum gpuaes_status status = GPUAES_OK;
    if (r != DRV_SUCCESS)
        status = device_fault(device, "a copy", r);
    if (r != DRV_NOT_READY && slot->staging != NULL &&
        (r == DRV_SUCCESS || device_has_pinned(device->driver, slot->staging)))
        gpuaes_cleanse(slot->staging, min_u64(len, COPY_PIECE));
    stream_set_return(device, set, r == DRV_NOT_READY);
    return status;
}

static enum gpuaes_status copy_entered(struct device *entered, void *to, const void *from,
                                       size_t len)
{
    struct memory to_memory, from_memory;
    struct device *device;
    enum gpuaes_status status = memory_look(entered, to, len, &to_memory);
    if (status == GPUAES_OK)
        status = memory_look(entered, from, len, &from_memory);
    if (status == GPUAES_OK)
        status = memory_device(&from_memory, &to_memory, entered, &device);
    if (status != GPUAES_OK)
        return status;
    if (to_memory.kind == GPUAES_PAGEABLE && from_memory.kind == GPUAES_PAGEABLE) {
        memcpy(to, from, len);
        return GPUAES_OK;
    }
    if (!device_enter(device))
        return GPUAES_FAULT;
    status = copy_through_staging(device, to, to_memory.kind, from, from_memory.kind, len);
    device_leave(device);
    return status;
}

enum gpuaes_status gpuaes_copy(void *to, const void *from, size_t len)
{
    struct runtime_guard guard;
    if (len == 0)
        return GPUAES_OK;
    if (to == NULL || from == NULL)
        return GPUAES_BAD_ARGUMENT;
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL)
        return GPUAES_NOT_READY;
    enum gpuaes_status status = copy_entered(device, to, from, len);
    runtime_leave_device(&guard, device);
    return status;
}
