/*
 * One device: its context, kernels and memory, faults and waiting.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DEVICE_DEVICE_H
#define GPUAES_CUDA_DEVICE_DEVICE_H

#include <stdatomic.h>

#include "cuda/device/memory_pool.h"
#include "cuda/device/stream_set.h"
#include "cuda/driver/driver.h"
#include "cuda/gpuaes.h"
#include "cuda/launch/kernels.h"

enum device_use {
    DEVICE_OUT,
    DEVICE_IN_USE,
    DEVICE_GUEST, /* the application's choice: works on the memory it owns alone */
    DEVICE_LOST
};

/* Called when a device that failed is DEVICE_LOST, for the rest of the process. */
struct device;
typedef void device_lost_fn(const struct device *device, const char *reason);

struct device {
    const struct driver *driver;
    drv_device ordinal;
    drv_context context; /* the primary one, retained */
    struct kernels kernels;
    struct gpuaes_device_info info;
    struct stream_sets stream_sets;
    struct memory_pool pool;
    drv_pool stream_pool; /* temporary memory of work on streams; NULL: the driver has no pools */
    atomic_int use;       /* enum device_use; see runtime.c */
    device_lost_fn *on_lost;
};

/*
 * Finds the device and retains its primary context; then loads the kernels. Each returns 1, or 0
 * with a sentence in `reason`. On an error nothing is left.
 */
struct device_reason {
    char text[192];
};
int device_start(struct device *device, const struct driver *driver, int ordinal,
                 device_lost_fn *on_lost, struct device_reason *reason);
int device_load(struct device *device, struct device_reason *reason);

/*
 * Undoes a start; nothing of the device may be in use. Frees memory, and so waits for all that
 * the application has queued on the device, however long that takes.
 */
drv_result device_release(struct device *device);

/*
 * 0 if the driver says that it has no such pinned memory: it went with its context, which the
 * application has reset. Not for the hot path; needs no context.
 */
int device_has_pinned(const struct driver *driver, const void *p);

/* Makes its context current until device_leave(). 0 if it failed there. */
int device_enter(struct device *device);
void device_leave(struct device *device);

/*
 * Records that a driver call failed: counts the fault and, unless it was only
 * short of memory, gives the device up for the rest of the process.
 */
enum gpuaes_status device_fault(struct device *device, const char *what, drv_result result);

/* The same where a part of the work may be queued: short memory is a fault like any other then. */
enum gpuaes_status device_fault_midway(struct device *device, const char *what, drv_result result);

/* The same in the start: 0 for success, else counted and described. */
int device_call_failed(struct device_reason *reason, const char *function, drv_result result);

/*
 * Whether a stream of the application takes work: DRV_SUCCESS, or one of the errors of a
 * capture where the work would become part of a CUDA graph, or, on the legacy stream, would
 * invalidate a capture on one that it waits for. To be asked before anything is put on it.
 */
drv_result device_may_use(const struct device *device, drv_stream stream);

/*
 * Waits until `event` (or, where that is NULL, all of `stream`) is done:
 * spins for the first moments, then sleeps in short turns, timeout_ms at most
 * (and for ten looks at least, where the process does not get to run so often).
 * DRV_NOT_READY means that the time is up.
 */
drv_result device_wait(const struct device *device, drv_stream stream, drv_event event);

/* The same without a limit, for work of the application, which may take as long as it likes. */
drv_result device_wait_for_application(const struct device *device, drv_event event);

#endif
