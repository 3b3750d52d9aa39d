/*
 * The process's one device and its life: start, use, idle release, loss.
 *
 * Locks, in the order in which they may be taken: the life's (device.c), then
 * the lanes' (lane.c). Neither is held during a call of a callback or a wait
 * for the device. A forked child takes none of them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_DEVICE_H
#define GPUAES_DEVICE_H

#include "driver.h"
#include "gpuaes.h"
#include "kernels.h"
#include "lane.h"

struct device {
    struct driver driver;
    drv_device ordinal;
    drv_context context; /* the primary one, retained */
    struct kernels kernels;
    struct gpuaes_device_info info;
    struct gpuaes_settings settings;
    struct lanes lanes;
};

/*
 * Enters the device: its context becomes current, the thread cannot be
 * cancelled and the device is not released until device_leave(), which undoes
 * all of it. NULL, with nothing changed, unless the device is READY (or the
 * caller is the start's own thread).
 */
struct visit {
    int cancel_state;
};
struct device *device_enter(struct visit *visit);
void device_leave(struct device *device, struct visit *visit);

/*
 * Records that a driver call failed: counts the fault and, unless it was only
 * short of memory, gives the device up for the rest of the process.
 */
enum gpuaes_status device_fault(struct device *device, const char *what, drv_result result);

/* While held, the device is not released when idle: somebody has its memory. */
void device_hold(void);
void device_unhold(void);

/*
 * Waits until `event` (or, where that is NULL, all of `stream`) is done:
 * spins for the first moments, then sleeps in short turns, timeout_ms at most.
 * DRV_NOT_READY means that the time is up.
 */
drv_result device_wait(const struct device *device, drv_stream stream, drv_event event);

#endif
