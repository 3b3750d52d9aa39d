/*
 * Pinned memory for applications: of ours, and of theirs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdlib.h>

#include "cuda/process/fork.h"
#include "cuda/process/statistics.h"
#include "cuda/runtime/runtime.h"

/* ---- Allocated --------------------------------------------------------------- */

void *gpuaes_pinned_alloc(size_t bytes)
{
    struct runtime_guard guard;
    struct device *device = bytes != 0 ? runtime_enter_device(&guard) : NULL;
    if (device == NULL)
        return NULL;
    void *p = NULL;
    drv_result r =
        device->driver->mem_host_alloc(&p, bytes, DRV_HOST_ALLOC_PORTABLE | DRV_HOST_ALLOC_MAPPED);
    if (r != DRV_SUCCESS) {
        (void)device_fault(device, "cuMemHostAlloc", r);
        p = NULL;
    } else {
        runtime_ref(); /* releasing the context would take the memory away */
    }
    runtime_leave_device(&guard, device);
    return p;
}

void gpuaes_pinned_free(void *p, size_t bytes)
{
    struct runtime_guard guard;
    if (p == NULL || fork_is_child()) /* where the pages may not be there */
        return;
    if (runtime_reenter(&guard)) { /* it is held; the exit waits for that */
        if (runtime_has_pinned(p))
            gpuaes_cleanse(p, bytes);
        runtime_leave(&guard);
    }
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL) /* all are lost: leaked */
        return;
    drv_result r = device->driver->mem_free_host(p);
    if (r != DRV_SUCCESS)
        (void)device_fault(device, "cuMemFreeHost", r);
    runtime_unref();
    runtime_leave_device(&guard, device);
}

/* ---- Registered -------------------------------------------------------------- */

struct registered {
    const void *p;
    struct registered *next;
};

static struct {
    pthread_mutex_t lock;
    struct registered *first;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add(struct registered *entry)
{
    (void)pthread_mutex_lock(&list.lock);
    entry->next = list.first;
    list.first = entry;
    (void)pthread_mutex_unlock(&list.lock);
}

/* Takes the entry of `p` out of the list; NULL if there is none. */
static struct registered *take(const void *p)
{
    (void)pthread_mutex_lock(&list.lock);
    struct registered **link = &list.first;
    while (*link != NULL && (*link)->p != p)
        link = &(*link)->next;
    struct registered *found = *link;
    if (found != NULL)
        *link = found->next;
    (void)pthread_mutex_unlock(&list.lock);
    return found;
}

/* What the driver says of memory that cannot be pinned is no fault of the device. */
static enum gpuaes_status status_of(struct device *device, drv_result r)
{
    switch (r) {
    case DRV_SUCCESS:
        return GPUAES_OK;
    case DRV_OUT_OF_MEMORY:
        return GPUAES_NO_MEMORY;
    case DRV_INVALID_VALUE:
    case DRV_OPERATING_SYSTEM:
    case DRV_ALREADY_REGISTERED:
    case DRV_NOT_REGISTERED:
    case DRV_NOT_PERMITTED:
    case DRV_NOT_SUPPORTED:
        return GPUAES_BAD_RANGE;
    default:
        return device_fault(device, "registering memory", r);
    }
}

enum gpuaes_status gpuaes_pinned_register(void *p, size_t bytes)
{
    struct runtime_guard guard;
    if (p == NULL || bytes == 0)
        return GPUAES_BAD_ARGUMENT;
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL)
        return GPUAES_NOT_READY;
    struct registered *entry = malloc(sizeof *entry);
    enum gpuaes_status status = GPUAES_NO_MEMORY;
    if (entry != NULL)
        status =
            status_of(device, device->driver->mem_host_register(
                                  p, bytes, DRV_HOST_REGISTER_PORTABLE | DRV_HOST_REGISTER_MAPPED));
    if (status == GPUAES_OK) {
        entry->p = p;
        add(entry);
        runtime_ref(); /* as long as it is registered */
    } else {
        free(entry);
    }
    runtime_leave_device(&guard, device);
    return status;
}

enum gpuaes_status gpuaes_pinned_unregister(void *p)
{
    struct runtime_guard guard;
    if (p == NULL)
        return GPUAES_BAD_ARGUMENT;
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL)
        return GPUAES_NOT_READY;
    struct registered *entry = take(p);
    enum gpuaes_status status = GPUAES_BAD_RANGE;
    if (entry != NULL) {
        status = status_of(device, device->driver->mem_host_unregister(p));
        runtime_unref();
    }
    free(entry);
    runtime_leave_device(&guard, device);
    return status;
}
