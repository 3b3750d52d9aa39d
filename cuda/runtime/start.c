/*
 * Start, idle release and exit.
 *
 * A CUDA context costs 0.3 s, so it is taken in a thread of its own, which
 * then stays to release the devices when they have been idle for long. That
 * thread is never joined: the library is linked so that it is never unmapped.
 * When the process exits, all that is done here is to keep other threads from
 * memory that the driver is about to take away.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "cuda/device/ring.h"
#include "cuda/driver/root.h"
#include "cuda/process/fork.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"
#include "cuda/process/thread_pool.h"
#include "cuda/runtime/state.h"

/* From STARTING to `state`, unless all devices were lost meanwhile. */
static void end_transition(enum gpuaes_state state)
{
    int starting = GPUAES_STARTING;
    (void)pthread_mutex_lock(&runtime.lock);
    (void)atomic_compare_exchange_strong(&runtime.state, &starting, state);
    (void)pthread_cond_broadcast(&runtime.changed);
    (void)pthread_mutex_unlock(&runtime.lock);
}

/* ---- Start, in a thread of its own ---------------------------------------- */

static int reject(struct device_reason *reason, const char *why)
{
    (void)snprintf(reason->text, sizeof reason->text, "%s", why);
    return 0;
}

static int open_driver(struct device_reason *reason)
{
    if (getauxval(AT_SECURE) != 0)
        return reject(reason, "this is a set-user-ID or privileged process");
    struct driver_image image;
    if (!driver_find_image(0, &image))
        return reject(reason, "gpuaes was built without the CUDA toolkit");
    /* Each time: a driver that is loaded already may open more libraries when it starts again. */
    const char *changed = root_changed();
    if (changed != NULL)
        return reject(reason, changed);
    if (!runtime.driver_opened) {
        const char *why = driver_open(&runtime.driver);
        if (why != NULL)
            return reject(reason, why);
        runtime.driver_opened = 1;
    }
    return 1;
}

/*
 * The exit waits for other threads for so long at most, which is longer than they need on a machine
 * that is very busy. A pause counts for a part of it at most: the process may have been stopped.
 */
static const int64_t EXIT_NS = 1000000000, EXIT_PAUSE_MOST_NS = 50000000;

/*
 * Handlers run in the opposite order of their registration: after cuInit() ours comes before
 * the driver's, which may take away the pinned memory that other threads copy from or to. From now
 * on they work with the CPU. A thread that was stopped in the middle of such a copy touches that
 * memory if it ever goes on.
 */
static void at_exit(void)
{
    const struct timespec pause = {0, 20000};
    int64_t looked = clock_ns(CLOCK_MONOTONIC), waited = 0;
    if (fork_is_child())
        return;
    atomic_store(&runtime.ending, 1);
    while ((!rings_close() || atomic_load(&runtime.guards) != 0) && waited < EXIT_NS) {
        (void)nanosleep(&pause, NULL);
        int64_t now = clock_ns(CLOCK_MONOTONIC), turn = now - looked;
        waited += turn < EXIT_PAUSE_MOST_NS ? turn : EXIT_PAUSE_MOST_NS;
        looked = now;
    }
}

static void watch_exit(void)
{
    static int watched;
    if (!watched)
        (void)atexit(at_exit);
    watched = 1;
}

/*
 * The exit waits for this: one that comes while kernels are loaded corrupts the heap (driver 580).
 * Taking a context needs no such wait, which would be one for 0.3 s.
 */
static int load(struct device *device, struct device_reason *reason)
{
    struct runtime_guard guard;
    if (!runtime_enter(&guard))
        return reject(reason, "the process is ending");
    int loaded = device_load(device, reason);
    runtime_leave(&guard);
    return loaded;
}

/* One is enough; the reason is that of the first that cannot be started. */
static int start_devices(struct device_reason *reason)
{
    int count = 0, started = 0;
    drv_result r = runtime.driver.init(0);
    watch_exit();
    if (r == DRV_NO_DEVICE)
        return reject(reason, "no CUDA device");
    if (device_call_failed(reason, "cuInit", r) ||
        device_call_failed(reason, "cuDeviceGetCount", runtime.driver.device_get_count(&count)))
        return 0;
    for (int i = 0; i < count && i < MAX_DEVICES; i++) {
        struct device *device = &runtime.devices[i];
        struct device_reason why;
        if ((settings_in_force()->devices >> i & 1) == 0 ||
            atomic_load(&device->use) == DEVICE_LOST)
            continue;
        if (device_start(device, &runtime.driver, i, runtime_lose, &why) && load(device, &why)) {
            runtime_set_use(device, DEVICE_IN_USE);
            started++;
        } else if (reason->text[0] == '\0') {
            *reason = why;
        }
    }
    if (started == 0 && reason->text[0] == '\0')
        return reject(reason, count == 0 ? "no CUDA device"
                                         : "none of the devices that are set can be used");
    return started != 0;
}

/* ---- Idle release ---------------------------------------------------------- */

/* All of them; those that cannot be released are lost. */
static void release_devices(void)
{
    int released = 0;
    char reason[sizeof runtime.reason.text] = "the device was lost";
    for (int i = 0; i < MAX_DEVICES; i++) {
        struct device *device = &runtime.devices[i];
        int use = atomic_load(&device->use);
        if (use != DEVICE_IN_USE && use != DEVICE_GUEST)
            continue;
        drv_result r = device_release(device);
        runtime_set_use(device, r == DRV_SUCCESS ? DEVICE_OUT : DEVICE_LOST);
        released += r == DRV_SUCCESS && use == DEVICE_IN_USE;
        if (r != DRV_SUCCESS) {
            statistics_count(STATISTIC_FAULTS, 1);
            (void)snprintf(reason, sizeof reason,
                           "releasing the idle device failed with CUDA error %d", r);
        }
    }
    rings_reopen();
    if (released != 0) {
        end_transition(GPUAES_OFF);
        return;
    }
    (void)pthread_mutex_lock(&runtime.lock);
    runtime_fail(reason);
    (void)pthread_mutex_unlock(&runtime.lock);
}

/* Wakes threads that wait for a look at idleness: from here on a start waits for timeout_ms at
 * most. */
static void set_releasing(void)
{
    (void)pthread_mutex_lock(&runtime.lock);
    atomic_store(&runtime.releasing, 1);
    (void)pthread_cond_broadcast(&runtime.changed);
    (void)pthread_mutex_unlock(&runtime.lock);
}

/* In this order: a guard that leaves a reference behind begins that before its end. */
static int is_used(void)
{
    /* A guard may give its reference back between the first two loads. */
    return atomic_load(&runtime.guards) != 0 || atomic_load(&runtime.refs) != 0 ||
           atomic_load(&runtime.guards) != 0;
}

/* Returns when the devices are released or lost. */
static void watch_idleness(void)
{
    int64_t limit = (int64_t)settings_in_force()->idle_seconds * 1000000000;
    for (;;) {
        int64_t rest = atomic_load(&runtime.last_use) + limit - clock_ns(CLOCK_MONOTONIC_COARSE);
        if (rest > 0) {
            struct timespec t = clock_timespec(rest);
            (void)nanosleep(&t, NULL);
            continue;
        }
        if (atomic_load(&runtime.state) != GPUAES_READY)
            return;      /* lost */
        if (is_used()) { /* at work for long, or memory is held */
            atomic_store(&runtime.last_use, clock_ns(CLOCK_MONOTONIC_COARSE));
            continue;
        }
        /* Entering raises `guards` and then looks at the state; we do it in the
         * other order, so that one of the two sees the other. */
        int ready = GPUAES_READY;
        if (!atomic_compare_exchange_strong(&runtime.state, &ready, GPUAES_STARTING))
            return;
        if (!is_used() && rings_reclaim())
            break;
        atomic_store(&runtime.last_use, clock_ns(CLOCK_MONOTONIC_COARSE));
        end_transition(GPUAES_READY);
    }
    set_releasing();
    release_devices();
}

static void *start_thread(void *unused)
{
    (void)unused;
    struct device_reason reason = {""};
    int64_t begun = clock_ns(CLOCK_MONOTONIC);
    runtime_is_start_thread = 1;
    root_keep();
    int ok = open_driver(&reason);
    if (ok)
        (void)driver_exchange_capture_mode(&runtime.driver, DRV_CAPTURE_RELAXED);
    if (!ok || !start_devices(&reason)) {
        (void)pthread_mutex_lock(&runtime.lock);
        runtime_fail(reason.text);
        (void)pthread_mutex_unlock(&runtime.lock);
        return NULL;
    }
    statistics_leave_out(1);
    struct runtime_guard guard; /* it works on pinned memory, which the exit must not take away */
    if (runtime.on_ready != NULL && runtime_enter(&guard)) {
        runtime.on_ready(runtime.on_ready_arg);
        runtime_leave(&guard);
    }
    statistics_leave_out(0);
    runtime_is_start_thread = 0;
    statistics_set_start_ms((uint64_t)(clock_ns(CLOCK_MONOTONIC) - begun) / 1000000);
    atomic_store(&runtime.last_use, clock_ns(CLOCK_MONOTONIC_COARSE));

    end_transition(GPUAES_READY); /* or FAILED it is, by a fault in on_ready */
    if (settings_in_force()->idle_seconds != 0)
        watch_idleness();
    return NULL;
}

/* Under the lock. */
static void begin(gpuaes_ready_fn *on_ready, void *arg)
{
    runtime.on_ready = on_ready;
    runtime.on_ready_arg = arg;
    settings_fix();
    atomic_store(&runtime.state, GPUAES_STARTING);
    atomic_store(&runtime.releasing, 0);
    if (!thread_begin(start_thread))
        runtime_fail("no thread could be created");
}

/* Under the lock. Waits for a start without limit, for a release timeout_ms at most: 0 then. */
static int await_start(void)
{
    struct timespec limit;
    int r = 0, limited = 0;
    while (r == 0 && atomic_load(&runtime.state) == GPUAES_STARTING) {
        if (!atomic_load(&runtime.releasing)) {
            r = pthread_cond_wait(&runtime.changed, &runtime.lock);
            continue;
        }
        if (!limited) /* not before: the start itself has no limit */
            limit = settings_deadline();
        limited = 1;
        r = pthread_cond_clockwait(&runtime.changed, &runtime.lock, CLOCK_MONOTONIC, &limit);
    }
    return r == 0;
}

enum gpuaes_state gpuaes_start(gpuaes_ready_fn *on_ready, void *arg, int wait)
{
    enum gpuaes_state state = gpuaes_state();
    if (state == GPUAES_READY || state == GPUAES_FAILED || runtime_is_start_thread)
        return state;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    fork_watch();
    (void)pthread_mutex_lock(&runtime.lock);
    /* Idle devices that are just being released become OFF first. */
    do {
        if (atomic_load(&runtime.state) == GPUAES_OFF)
            begin(on_ready, arg);
        wait = wait && await_start();
    } while (wait && atomic_load(&runtime.state) == GPUAES_OFF);
    (void)pthread_mutex_unlock(&runtime.lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return gpuaes_state();
}
