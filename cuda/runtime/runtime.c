/*
 * The runtime: its state, the devices in use, and the guards of those that use them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "cuda/driver/root.h"
#include "cuda/process/fork.h"
#include "cuda/process/statistics.h"
#include "cuda/process/struct_bytes.h"
#include "cuda/runtime/state.h"

struct runtime runtime = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .adoption = PTHREAD_MUTEX_INITIALIZER};

_Thread_local int runtime_is_start_thread;

/* ---- State ---------------------------------------------------------------- */

enum gpuaes_state gpuaes_state(void)
{
    int state = atomic_load_explicit(&runtime.state, memory_order_acquire);
    if (fork_is_child()) /* also where the devices had been released before the fork */
        return GPUAES_FAILED;
    return (enum gpuaes_state)state;
}

const char *gpuaes_reason(void)
{
    if (fork_is_child())
        return "this process was forked from one that had started the device";
    return gpuaes_state() == GPUAES_FAILED ? runtime.reason.text : "";
}

void runtime_fail(const char *reason)
{
    if (atomic_load(&runtime.state) != GPUAES_FAILED) {
        (void)snprintf(runtime.reason.text, sizeof runtime.reason.text, "%s", reason);
        atomic_store(&runtime.state, GPUAES_FAILED);
    }
    (void)pthread_cond_broadcast(&runtime.changed);
}

/* ---- Devices in use ---------------------------------------------------------- */

void runtime_set_use(struct device *device, enum device_use use)
{
    uint64_t bit = UINT64_C(1) << (device - runtime.devices);
    (void)pthread_mutex_lock(&runtime.lock);
    atomic_store(&device->use, use);
    if (use == DEVICE_IN_USE)
        atomic_fetch_or(&runtime.in_use, bit);
    else
        atomic_fetch_and(&runtime.in_use, ~bit);
    (void)pthread_mutex_unlock(&runtime.lock);
}

unsigned runtime_devices(struct device *devices[MAX_DEVICES])
{
    unsigned count = 0;
    uint64_t left = atomic_load_explicit(&runtime.in_use, memory_order_acquire);
    for (; left != 0; left &= left - 1)
        devices[count++] = &runtime.devices[__builtin_ctzll(left)];
    return count;
}

struct device *runtime_own_device(void)
{
    static _Thread_local unsigned turn; /* from 1; 0 is none yet */
    struct device *devices[MAX_DEVICES];
    unsigned count = runtime_devices(devices);
    if (turn == 0)
        turn = atomic_fetch_add_explicit(&runtime.turns, 1, memory_order_relaxed) % MAX_DEVICES + 1;
    return count == 0 ? NULL : devices[(turn - 1) % count];
}

void runtime_lose(const struct device *device, const char *reason)
{
    uint64_t bit = UINT64_C(1) << (device - runtime.devices);
    (void)pthread_mutex_lock(&runtime.lock);
    if (atomic_fetch_and(&runtime.in_use, ~bit) == bit)
        runtime_fail(reason);
    (void)pthread_mutex_unlock(&runtime.lock);
}

/* Under the adoption's lock. Loads kernels, for which the driver may open libraries. */
static int adopt(struct device *device, int ordinal)
{
    struct device_reason reason;
    unsigned flags;
    int active = 0;
    if (runtime.driver.primary_ctx_get_state(ordinal, &flags, &active) != DRV_SUCCESS || !active ||
        root_changed() != NULL)
        return 0;
    int started = device_start(device, &runtime.driver, ordinal, runtime_lose, &reason) &&
                  device_load(device, &reason);
    runtime_set_use(device, started ? DEVICE_GUEST : DEVICE_LOST);
    return started;
}

struct device *runtime_device_of(int ordinal)
{
    if (ordinal < 0 || ordinal >= MAX_DEVICES)
        return NULL;
    struct device *device = &runtime.devices[ordinal];
    int use = atomic_load_explicit(&device->use, memory_order_acquire);
    if (use == DEVICE_OUT) {
        (void)pthread_mutex_lock(&runtime.adoption);
        use = atomic_load(&device->use); /* another thread may have been here */
        if (use == DEVICE_OUT && adopt(device, ordinal))
            use = DEVICE_GUEST;
        (void)pthread_mutex_unlock(&runtime.adoption);
    }
    return use == DEVICE_IN_USE || use == DEVICE_GUEST ? device : NULL;
}

int gpuaes_device(unsigned n, struct gpuaes_device_info *info)
{
    struct runtime_guard guard;
    struct device *devices[MAX_DEVICES];
    if (!runtime_enter(&guard))
        return 0;
    int found = n < runtime_devices(devices) &&
                struct_give(info, &devices[n]->info, sizeof devices[n]->info);
    runtime_leave(&guard);
    return found;
}

int gpuaes_device_toolkit(unsigned n)
{
    struct runtime_guard guard;
    struct device *devices[MAX_DEVICES];
    if (!runtime_enter(&guard))
        return 0;
    int toolkit = n < runtime_devices(devices) ? devices[n]->kernels.toolkit : 0;
    runtime_leave(&guard);
    return toolkit;
}

const char *gpuaes_build(void)
{
    return driver_build();
}

/* ---- Use ------------------------------------------------------------------- */

static void end_use(atomic_int *uses)
{
    atomic_store(&runtime.last_use, clock_ns(CLOCK_MONOTONIC_COARSE));
    atomic_fetch_sub(uses, 1);
}

void runtime_ref(void)
{
    atomic_fetch_add(&runtime.refs, 1);
}

void runtime_unref(void)
{
    end_use(&runtime.refs);
}

void runtime_keep_for_graphs(void)
{
    static atomic_flag is_kept = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_kept))
        runtime_ref();
}

/* Until idle devices are being released, or are found not to be idle after all. */
static void await_transition(void)
{
    (void)pthread_mutex_lock(&runtime.lock);
    while (atomic_load(&runtime.state) == GPUAES_STARTING && !atomic_load(&runtime.releasing))
        (void)pthread_cond_wait(&runtime.changed, &runtime.lock);
    (void)pthread_mutex_unlock(&runtime.lock);
}

int runtime_has_pinned(const void *p)
{
    return runtime.driver.pointer_get_attributes == NULL || device_has_pinned(&runtime.driver, p);
}

/*
 * Raises `guards` before it looks whether that may be, where the watcher and the exit's handler do
 * it in the other order. All of it is sequentially consistent, so that one of the two sees the
 * other.
 */
static int begin_guard(int in_any_state)
{
    atomic_fetch_add(&runtime.guards, 1);
    if (!atomic_load(&runtime.ending) &&
        (in_any_state || atomic_load(&runtime.state) == GPUAES_READY))
        return 1;
    end_use(&runtime.guards);
    return 0;
}

/* Begins the guard of a caller in any state, or in READY alone, waiting out a look at idleness. */
static int enter(struct runtime_guard *guard, int in_any_state)
{
    guard->error = errno;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel_state);
    int entered = in_any_state && begin_guard(1);
    while (!in_any_state && !entered && gpuaes_state() == GPUAES_READY &&
           !atomic_load(&runtime.ending)) {
        entered = begin_guard(0);
        if (!entered)
            await_transition();
    }
    if (entered)
        guard->capture_mode = driver_exchange_capture_mode(&runtime.driver, DRV_CAPTURE_RELAXED);
    else
        (void)pthread_setcancelstate(guard->cancel_state, NULL);
    return entered;
}

int runtime_enter(struct runtime_guard *guard)
{
    return enter(guard, runtime_is_start_thread);
}

int runtime_reenter(struct runtime_guard *guard)
{
    return enter(guard, 1);
}

void runtime_leave(struct runtime_guard *guard)
{
    (void)driver_exchange_capture_mode(&runtime.driver, guard->capture_mode);
    (void)pthread_setcancelstate(guard->cancel_state, NULL);
    end_use(&runtime.guards);
    errno = guard->error;
}

struct device *runtime_enter_device(struct runtime_guard *guard)
{
    if (!runtime_enter(guard))
        return NULL;
    struct device *device = runtime_own_device();
    if (device != NULL && device_enter(device))
        return device;
    runtime_leave(guard);
    return NULL;
}

/* The one in use, or of the application's, whose context that is. NULL: none. */
static struct device *device_of_context(drv_context context)
{
    for (int i = 0; i < MAX_DEVICES; i++) {
        int use = atomic_load_explicit(&runtime.devices[i].use, memory_order_acquire);
        if ((use == DEVICE_IN_USE || use == DEVICE_GUEST) && runtime.devices[i].context == context)
            return &runtime.devices[i];
    }
    return NULL;
}

/*
 * Finds the device of a stream, with some device entered. *device is NULL for a stream of another
 * context, and on an error, which tells of a context that is broken.
 */
static drv_result find_device(const struct device *entered, drv_stream stream, int ordinal,
                              struct device **device)
{
    drv_context context;
    *device = NULL;
    if (stream == NULL || stream == DRV_STREAM_LEGACY || stream == DRV_STREAM_PER_THREAD) {
        *device = runtime_device_of(ordinal);
        return DRV_SUCCESS;
    }
    drv_result r = entered->driver->stream_get_ctx(stream, &context);
    if (r == DRV_SUCCESS)
        *device = device_of_context(context);
    return r == DRV_INVALID_VALUE || r == DRV_INVALID_HANDLE || r == DRV_INVALID_CONTEXT
               ? DRV_SUCCESS
               : r;
}

enum gpuaes_status runtime_enter_stream(struct runtime_guard *guard, drv_stream stream, int ordinal,
                                        struct device **device)
{
    struct device *own = runtime_enter_device(guard);
    if (own == NULL)
        return GPUAES_NOT_READY;
    drv_result r = find_device(own, stream, ordinal, device);
    if (*device == own)
        return GPUAES_OK;
    device_leave(own);
    if (*device != NULL && device_enter(*device))
        return GPUAES_OK;
    runtime_leave(guard);
    return *device == NULL && r == DRV_SUCCESS ? GPUAES_BAD_ARGUMENT : GPUAES_FAULT;
}

void runtime_leave_device(struct runtime_guard *guard, struct device *device)
{
    device_leave(device);
    runtime_leave(guard);
}
