/*
 * The runtime.
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
#include "cuda/runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "cuda/device/ring.h"
#include "cuda/driver/root.h"
#include "cuda/process/fork.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"
#include "cuda/process/struct_bytes.h"
#include "cuda/process/thread_pool.h"

static struct {
    pthread_mutex_t lock; /* of what follows down to the blank line */
    pthread_cond_t changed;
    int driver_opened;
    gpuaes_ready_fn *on_ready;
    void *on_ready_arg;

    pthread_mutex_t adoption; /* one at a time */
    atomic_int state;         /* written under the lock */
    atomic_int releasing;     /* memory is being freed, however long that takes */
    atomic_int guards, refs;  /* of runtime_enter() and runtime_ref() */
    atomic_int ending;        /* the process is: there are no more guards */
    atomic_uint turns;        /* threads that have asked for a device */
    _Atomic uint64_t in_use;  /* bit n: device n is; written under the lock */
    _Atomic int64_t last_use;
    struct device_reason reason; /* written under the lock until the state is FAILED */
    struct driver driver;
    struct device devices[MAX_DEVICES]; /* by ordinal */
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER,
             .adoption = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int is_start_thread;

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

/* Under the lock. */
static void fail(const char *reason)
{
    if (atomic_load(&runtime.state) != GPUAES_FAILED) {
        (void)snprintf(runtime.reason.text, sizeof runtime.reason.text, "%s", reason);
        atomic_store(&runtime.state, GPUAES_FAILED);
    }
    (void)pthread_cond_broadcast(&runtime.changed);
}

/* From STARTING to `state`, unless all devices were lost meanwhile. */
static void end_transition(enum gpuaes_state state)
{
    int starting = GPUAES_STARTING;
    (void)pthread_mutex_lock(&runtime.lock);
    (void)atomic_compare_exchange_strong(&runtime.state, &starting, state);
    (void)pthread_cond_broadcast(&runtime.changed);
    (void)pthread_mutex_unlock(&runtime.lock);
}

/* ---- Devices in use ---------------------------------------------------------- */

static void set_use(struct device *device, enum device_use use)
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

/* The device has marked itself; the last one takes the runtime with it. */
static void on_lost(const struct device *device, const char *reason)
{
    uint64_t bit = UINT64_C(1) << (device - runtime.devices);
    (void)pthread_mutex_lock(&runtime.lock);
    if (atomic_fetch_and(&runtime.in_use, ~bit) == bit)
        fail(reason);
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
    int started = device_start(device, &runtime.driver, ordinal, on_lost, &reason) &&
                  device_load(device, &reason);
    set_use(device, started ? DEVICE_GUEST : DEVICE_LOST);
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
        if (device_start(device, &runtime.driver, i, on_lost, &why) && load(device, &why)) {
            set_use(device, DEVICE_IN_USE);
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
        set_use(device, r == DRV_SUCCESS ? DEVICE_OUT : DEVICE_LOST);
        released += r == DRV_SUCCESS && use == DEVICE_IN_USE;
        if (r != DRV_SUCCESS) {
            statistics_add_fault();
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
    fail(reason);
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
    is_start_thread = 1;
    root_keep();
    int ok = open_driver(&reason);
    if (ok)
        (void)driver_exchange_capture_mode(&runtime.driver, DRV_CAPTURE_RELAXED);
    if (!ok || !start_devices(&reason)) {
        (void)pthread_mutex_lock(&runtime.lock);
        fail(reason.text);
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
    is_start_thread = 0;
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
        fail("no thread could be created");
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
    if (state == GPUAES_READY || state == GPUAES_FAILED || is_start_thread)
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
    return enter(guard, is_start_thread);
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
