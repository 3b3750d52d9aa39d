/*
 * Kinds of memory, and pinned memory for applications.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "memory.h"

#include <string.h>

enum { ATTRIBUTES = 5 };

struct range {
    unsigned type;
    int managed;
    int ordinal;
    drv_ptr start;
    size_t bytes;
};

static drv_result query(const struct device *device, const void *p, struct range *range)
{
    static const int wanted[ATTRIBUTES] = {DRV_POINTER_MEMORY_TYPE, DRV_POINTER_IS_MANAGED,
                                           DRV_POINTER_DEVICE_ORDINAL, DRV_POINTER_RANGE_START,
                                           DRV_POINTER_RANGE_SIZE};
    int attributes[ATTRIBUTES];
    *range = (struct range){0};
    void *values[ATTRIBUTES] = {&range->type, &range->managed, &range->ordinal, &range->start,
                                &range->bytes};
    for (int i = 0; i < ATTRIBUTES; i++)
        attributes[i] = wanted[i];
    return device->driver.pointer_get_attributes(ATTRIBUTES, attributes, values, memory_address(p));
}

enum gpuaes_status memory_kind(struct device *device, const void *p, size_t len,
                               enum gpuaes_memory *kind)
{
    struct range range;
    *kind = GPUAES_PAGEABLE;
    drv_result r = query(device, p, &range);
    if (r != DRV_SUCCESS)
        return device_fault(device, "cuPointerGetAttributes", r);
    if (range.type == 0)
        return GPUAES_OK;
    int whole = memory_address(p) >= range.start && len <= range.bytes &&
                memory_address(p) - range.start <= range.bytes - len;
    if (range.managed || range.type == DRV_MEMORY_DEVICE) {
        if (!whole)
            return range.managed ? GPUAES_OK : GPUAES_BAD_RANGE;
        /* The CPU cannot read another device's memory, nor can our kernels. */
        *kind = range.managed || range.ordinal == device->ordinal ? GPUAES_DEVICE : GPUAES_FOREIGN;
    } else if (whole) {
        *kind = GPUAES_PINNED;
    }
    return GPUAES_OK;
}

enum gpuaes_memory gpuaes_memory_kind(const void *p, size_t len)
{
    struct visit visit;
    enum gpuaes_memory kind = GPUAES_PAGEABLE;
    struct device *device = device_enter(&visit);
    if (device == NULL)
        return kind;
    if (memory_kind(device, p, len, &kind) == GPUAES_BAD_RANGE)
        kind = GPUAES_FOREIGN;
    device_leave(device, &visit);
    return kind;
}

void *gpuaes_pinned_alloc(size_t bytes)
{
    struct visit visit;
    struct device *device = device_enter(&visit);
    if (device == NULL || bytes == 0) {
        if (device != NULL)
            device_leave(device, &visit);
        return NULL;
    }
    void *p = NULL;
    drv_result r =
        device->driver.mem_host_alloc(&p, bytes, DRV_HOST_ALLOC_PORTABLE | DRV_HOST_ALLOC_MAPPED);
    if (r != DRV_SUCCESS) {
        (void)device_fault(device, "cuMemHostAlloc", r);
        p = NULL;
    } else {
        device_hold(); /* releasing the context would take the memory away */
    }
    device_leave(device, &visit);
    return p;
}

void gpuaes_pinned_free(void *p, size_t bytes)
{
    struct visit visit;
    if (p == NULL)
        return;
    struct device *device = device_enter(&visit);
    if (device == NULL) /* a forked child, or a lost device: leaked, not touched */
        return;
    gpuaes_cleanse(p, bytes);
    drv_result r = device->driver.mem_free_host(p);
    if (r != DRV_SUCCESS)
        (void)device_fault(device, "cuMemFreeHost", r);
    device_unhold();
    device_leave(device, &visit);
}

/* Through the staging memory of a lane, in pieces of its size. */
enum { COPY_PIECE = 256 << 10 };

static drv_result copy_piece(struct device *device, const struct slot *slot, unsigned char *to,
                             enum gpuaes_memory to_kind, const unsigned char *from,
                             enum gpuaes_memory from_kind, size_t len)
{
    const struct driver *d = &device->driver;
    drv_result r = DRV_SUCCESS;
    if (from_kind == GPUAES_DEVICE) {
        r = d->memcpy_dtoh_async(slot->staging, memory_address(from), len, slot->stream);
        if (r == DRV_SUCCESS)
            r = device_wait(device, slot->stream, NULL);
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
    return r == DRV_SUCCESS ? device_wait(device, slot->stream, NULL) : r;
}

static enum gpuaes_status copy_on_lane(struct device *device, unsigned char *to,
                                       enum gpuaes_memory to_kind, const unsigned char *from,
                                       enum gpuaes_memory from_kind, size_t len)
{
    struct lane_needs needs = {.slots = 1, .staging = COPY_PIECE};
    struct lane *lane = lane_take(device, GPUAES_WAIT);
    if (lane == NULL)
        return GPUAES_BUSY;
    struct slot *slot = &lane->slots[0];
    drv_result r = lane_prepare(device, lane, &needs);
    /* After what the application put on the legacy stream. */
    if (r == DRV_SUCCESS)
        r = device->driver.event_record(slot->event, DRV_STREAM_LEGACY);
    if (r == DRV_SUCCESS)
        r = device->driver.stream_wait_event(slot->stream, slot->event, 0);
    for (size_t at = 0; at < len && r == DRV_SUCCESS; at += COPY_PIECE) {
        size_t n = len - at < COPY_PIECE ? len - at : COPY_PIECE;
        r = copy_piece(device, slot, to + at, to_kind, from + at, from_kind, n);
    }
    enum gpuaes_status status = GPUAES_OK;
    if (r != DRV_SUCCESS)
        status = device_fault(device, "a copy", r);
    if (r != DRV_NOT_READY && slot->staging != NULL)
        gpuaes_cleanse(slot->staging, len < COPY_PIECE ? len : COPY_PIECE);
    lane_return(device, lane, r == DRV_NOT_READY);
    return status;
}

enum gpuaes_status gpuaes_copy(void *to, const void *from, size_t len)
{
    struct visit visit;
    enum gpuaes_memory to_kind, from_kind;
    if (len == 0)
        return GPUAES_OK;
    struct device *device = device_enter(&visit);
    if (device == NULL)
        return GPUAES_NOT_READY;
    enum gpuaes_status status = memory_kind(device, to, len, &to_kind);
    if (status == GPUAES_OK)
        status = memory_kind(device, from, len, &from_kind);
    if (status == GPUAES_OK && (to_kind == GPUAES_FOREIGN || from_kind == GPUAES_FOREIGN))
        status = GPUAES_BAD_RANGE;
    if (status == GPUAES_OK) {
        if (to_kind == GPUAES_DEVICE || from_kind == GPUAES_DEVICE)
            status = copy_on_lane(device, to, to_kind, from, from_kind, len);
        else
            memcpy(to, from, len);
    }
    device_leave(device, &visit);
    return status;
}
