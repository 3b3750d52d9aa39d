/*
 * The runtime: the process's one set of devices, their start, use, idle release and loss.
 *
 * Locks, in the order in which they may be taken: adoption (runtime.c), the
 * runtime's (state.h), the stream sets' of a device (stream_set.c); those of the settings
 * (settings.c), the helpers (thread_pool.c), the pinned ranges (pinned.c) and the memory pool
 * (memory_pool.c) are leaves: no lock is taken within them. None is held during a call of a
 * callback or a wait for a device. A forked child takes none of them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_RUNTIME_RUNTIME_H
#define GPUAES_CUDA_RUNTIME_RUNTIME_H

#include "cuda/device/device.h"
#include "cuda/gpuaes.h"

enum { MAX_DEVICES = 64 }; /* bits of gpuaes_settings.devices */

/*
 * Enters: the thread cannot be cancelled, a capture of a CUDA graph elsewhere in
 * the process forbids it nothing, and no device is released until runtime_leave(),
 * which undoes all of it. The exit of the process waits for that, too, before the driver takes
 * pinned memory away, and no guard begins after it. 0, with nothing changed, then, and unless the
 * state is READY (or the caller is the start's own thread). While devices are being released it
 * does not wait for that, which may take as long as the application's work does.
 */
struct runtime_guard {
    int cancel_state;
    int capture_mode;
    int error; /* errno, which the driver's calls change */
};
int runtime_enter(struct runtime_guard *guard);

/* The same in any state, for what has a reference (see below) since it entered. 0 once the process
 * ends.
 */
int runtime_reenter(struct runtime_guard *guard);
void runtime_leave(struct runtime_guard *guard);

/*
 * As runtime_enter(), and enters the device for small work of the calling thread. Returns NULL,
 * with nothing changed, if it cannot.
 */
struct device *runtime_enter_device(struct runtime_guard *guard);
void runtime_leave_device(struct runtime_guard *guard, struct device *device);

/*
 * Call before asking the driver that the application has loaded, in any state of the devices. As
 * after runtime_enter(), the thread cannot be cancelled, and a capture of a CUDA graph forbids it
 * nothing until application_leave(). Returns NULL, with nothing changed, where the process has no
 * driver yet, and in a forked child.
 */
const struct driver *application_enter(struct runtime_guard *guard);
void application_leave(struct runtime_guard *guard, const struct driver *driver);

/*
 * Enters the device of a stream of the application for work there; `ordinal` is that of the legacy
 * stream, and of the one that is another in each thread. Returns OK; NOT_READY; BAD_ARGUMENT for a
 * stream of no device in use; FAULT where the driver does not tell, or the device cannot be
 * entered. runtime_leave_device() undoes it.
 */
enum gpuaes_status runtime_enter_stream(struct runtime_guard *guard, drv_stream stream, int ordinal,
                                        struct device **device);

/* While referenced, no device is released when idle, because a caller has its memory. */
void runtime_ref(void);
void runtime_unref(void);

/*
 * Call before work becomes part of a CUDA graph, which may run at any time: from then on no device
 * is released when idle.
 */
void runtime_keep_for_graphs(void);

/* The devices in use, by ordinal; how many. For callers that have entered. */
unsigned runtime_devices(struct device *devices[MAX_DEVICES]);

/* The device for small work of the calling thread; threads take turns. NULL: none is left. */
struct device *runtime_own_device(void);

/*
 * Returns the device of that ordinal, to work on memory that it owns: one in use, or one
 * that the application uses, which it prepares. NULL if the device is neither.
 */
struct device *runtime_device_of(int ordinal);

/* device_has_pinned(), also where no device is in use. */
int runtime_has_pinned(const void *p);

#endif
