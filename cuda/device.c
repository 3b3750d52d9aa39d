/*
 * The life of the device.
 *
 * A CUDA context costs 0.3 s, so it is taken in a thread of its own, which
 * then stays to release the device when it has been idle for long. That
 * thread is never joined: the library is linked so that it is never unmapped,
 * and nothing here runs when the process exits, where the driver may be
 * shutting down under us.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "fork.h"
#include "statistics.h"

enum { DEFAULT_TIMEOUT_MS = 10000, SPIN_NS = 200000, SLEEP_NS = 20000 };
#define DEFAULT_PINNED_BYTES ((size_t)256 << 20)

static struct {
    pthread_mutex_t lock; /* of what follows down to the blank line */
    pthread_cond_t changed;
    int configured, driver_opened;
    struct gpuaes_settings settings;
    gpuaes_ready_fn *on_ready;
    void *on_ready_arg;

    atomic_int state; /* written under the lock */
    atomic_int users; /* visits and holds */
    _Atomic int64_t last_use;
    char reason[192]; /* written once, before the state becomes FAILED */
    struct device device;
} life = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local int is_start_thread;

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- State ---------------------------------------------------------------- */

enum gpuaes_state gpuaes_state(void)
{
    int state = atomic_load_explicit(&life.state, memory_order_acquire);
    if (fork_is_child()) /* also where the device had been released before the fork */
        return GPUAES_FAILED;
    return (enum gpuaes_state)state;
}

const char *gpuaes_reason(void)
{
    if (fork_is_child())
        return "this process was forked from one that had started the device";
    return gpuaes_state() == GPUAES_FAILED ? life.reason : "";
}

static void fail(const char *reason)
{
    (void)pthread_mutex_lock(&life.lock);
    if (atomic_load(&life.state) != GPUAES_FAILED) {
        (void)snprintf(life.reason, sizeof life.reason, "%s", reason);
        atomic_store(&life.state, GPUAES_FAILED);
    }
    (void)pthread_cond_broadcast(&life.changed);
    (void)pthread_mutex_unlock(&life.lock);
}

int gpuaes_configure(const struct gpuaes_settings *settings)
{
    if (fork_is_child())
        return 0;
    (void)pthread_mutex_lock(&life.lock);
    int first = !life.configured && atomic_load(&life.state) == GPUAES_OFF;
    if (first) {
        life.settings = *settings;
        life.configured = 1;
    }
    (void)pthread_mutex_unlock(&life.lock);
    return first;
}

/* ---- Start, in a thread of its own ---------------------------------------- */

static int call_failed(char *reason, size_t size, const char *function, drv_result result)
{
    if (result == DRV_SUCCESS)
        return 0;
    statistics_add_fault();
    (void)snprintf(reason, size, "%s failed with CUDA error %d", function, result);
    return 1;
}

static int describe(struct device *device, char *reason, size_t size)
{
    const struct driver *d = &device->driver;
    struct gpuaes_device_info *info = &device->info;
    int mode = 0;
    if (call_failed(reason, size, "cuDeviceGetName",
                    d->device_get_name(info->name, sizeof info->name, device->ordinal)) ||
        call_failed(reason, size, "cuDriverGetVersion",
                    d->driver_get_version(&info->driver_version)) ||
        call_failed(
            reason, size, "cuDeviceGetAttribute",
            d->device_get_attribute(&info->compute_major, DRV_ATTR_CC_MAJOR, device->ordinal)) ||
        call_failed(
            reason, size, "cuDeviceGetAttribute",
            d->device_get_attribute(&info->compute_minor, DRV_ATTR_CC_MINOR, device->ordinal)) ||
        call_failed(reason, size, "cuDeviceGetAttribute",
                    d->device_get_attribute(&info->multiprocessors, DRV_ATTR_MULTIPROCESSOR_COUNT,
                                            device->ordinal)) ||
        call_failed(reason, size, "cuDeviceGetAttribute",
                    d->device_get_attribute(&mode, DRV_ATTR_COMPUTE_MODE, device->ordinal)))
        return 0;
    if (mode == DRV_COMPUTE_MODE_PROHIBITED) {
        (void)snprintf(reason, size, "%s is in prohibited compute mode", info->name);
        return 0;
    }
    return 1;
}

/* Finds the device; no context yet. */
static int find_device(struct device *device, char *reason, size_t size)
{
    const struct driver *d = &device->driver;
    int count = 0;
    drv_result r = d->init(0);
    if (r == DRV_NO_DEVICE) {
        (void)snprintf(reason, size, "no CUDA device");
        return 0;
    }
    if (call_failed(reason, size, "cuInit", r) ||
        call_failed(reason, size, "cuDeviceGetCount", d->device_get_count(&count)))
        return 0;
    if (count == 0) {
        (void)snprintf(reason, size, "no CUDA device");
        return 0;
    }
    if (call_failed(reason, size, "cuDeviceGet", d->device_get(&device->ordinal, 0)))
        return 0;
    return describe(device, reason, size);
}

static int take_context(struct device *device, char *reason, size_t size)
{
    const struct driver *d = &device->driver;
    drv_context popped;
    if (call_failed(reason, size, "cuDevicePrimaryCtxRetain",
                    d->primary_ctx_retain(&device->context, device->ordinal)))
        return 0;
    int ok = !call_failed(reason, size, "cuCtxPushCurrent", d->ctx_push_current(device->context));
    if (ok) {
        ok = !call_failed(reason, size, "loading the kernels",
                          kernels_load(d, device->ordinal, &device->kernels));
        (void)d->ctx_pop_current(&popped);
    }
    if (!ok)
        (void)d->primary_ctx_release(device->ordinal);
    return ok;
}

static int start_device(struct device *device, char *reason, size_t size)
{
    if (getauxval(AT_SECURE) != 0) {
        (void)snprintf(reason, size, "this is a set-user-ID or privileged process");
        return 0;
    }
    if (driver_kernels() == NULL) {
        (void)snprintf(reason, size, "gpuaes was built without the CUDA toolkit");
        return 0;
    }
    if (!life.driver_opened) {
        const char *why = driver_open(&device->driver);
        if (why != NULL) {
            (void)snprintf(reason, size, "%s", why);
            return 0;
        }
        life.driver_opened = 1;
    }
    lanes_init(&device->lanes);
    return find_device(device, reason, size) && take_context(device, reason, size);
}

/* ---- Idle release ---------------------------------------------------------- */

static drv_result release(struct device *device)
{
    drv_context popped;
    drv_result r = device->driver.ctx_push_current(device->context);
    if (r != DRV_SUCCESS)
        return r;
    lanes_free(device);
    (void)device->driver.module_unload(device->kernels.module);
    (void)device->driver.ctx_pop_current(&popped);
    return device->driver.primary_ctx_release(device->ordinal);
}

/* From STARTING to `state`, unless the device was lost meanwhile. */
static void end_transition(enum gpuaes_state state)
{
    int starting = GPUAES_STARTING;
    (void)pthread_mutex_lock(&life.lock);
    (void)atomic_compare_exchange_strong(&life.state, &starting, state);
    (void)pthread_cond_broadcast(&life.changed);
    (void)pthread_mutex_unlock(&life.lock);
}

/* Returns when the device is released or lost. */
static void watch_idleness(struct device *device)
{
    int64_t limit = (int64_t)device->settings.idle_seconds * 1000000000;
    for (;;) {
        int64_t rest = atomic_load(&life.last_use) + limit - now_ns(CLOCK_MONOTONIC_COARSE);
        if (rest > 0) {
            struct timespec t = {(time_t)(rest / 1000000000), (long)(rest % 1000000000)};
            (void)nanosleep(&t, NULL);
            continue;
        }
        if (atomic_load(&life.state) != GPUAES_READY)
            return;                          /* lost */
        if (atomic_load(&life.users) != 0) { /* at work for long, or memory is held */
            atomic_store(&life.last_use, now_ns(CLOCK_MONOTONIC_COARSE));
            continue;
        }
        /* Entering raises `users` and then looks at the state; we do it in the
         * other order, so that one of the two sees the other. */
        int ready = GPUAES_READY;
        if (!atomic_compare_exchange_strong(&life.state, &ready, GPUAES_STARTING))
            return;
        if (atomic_load(&life.users) == 0)
            break;
        end_transition(GPUAES_READY);
    }
    drv_result r = release(device);
    if (r == DRV_SUCCESS)
        end_transition(GPUAES_OFF);
    else
        (void)device_fault(device, "releasing the idle device", r);
}

static void *start_thread(void *unused)
{
    (void)unused;
    struct device *device = &life.device;
    char reason[sizeof life.reason] = "";
    int64_t begun = now_ns(CLOCK_MONOTONIC);
    is_start_thread = 1;
    device->settings = life.settings;
    if (device->settings.timeout_ms == 0)
        device->settings.timeout_ms = DEFAULT_TIMEOUT_MS;
    if (device->settings.pinned_bytes == 0)
        device->settings.pinned_bytes = DEFAULT_PINNED_BYTES;
    if (!start_device(device, reason, sizeof reason)) {
        fail(reason);
        return NULL;
    }
    if (life.on_ready != NULL)
        life.on_ready(life.on_ready_arg);
    is_start_thread = 0;
    statistics_set_start_ms((uint64_t)(now_ns(CLOCK_MONOTONIC) - begun) / 1000000);
    atomic_store(&life.last_use, now_ns(CLOCK_MONOTONIC_COARSE));

    end_transition(GPUAES_READY); /* or FAILED it is, by a fault in on_ready */
    if (device->settings.idle_seconds != 0)
        watch_idleness(device);
    return NULL;
}

static int begin_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&thread, NULL, start_thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        (void)pthread_detach(thread);
    return r == 0;
}

/* Under the lock. */
static void begin(gpuaes_ready_fn *on_ready, void *arg)
{
    life.on_ready = on_ready;
    life.on_ready_arg = arg;
    atomic_store(&life.state, GPUAES_STARTING);
    if (!begin_thread()) {
        (void)snprintf(life.reason, sizeof life.reason, "no thread could be created");
        atomic_store(&life.state, GPUAES_FAILED);
    }
}

enum gpuaes_state gpuaes_start(gpuaes_ready_fn *on_ready, void *arg, int wait)
{
    enum gpuaes_state state = gpuaes_state();
    if (state == GPUAES_READY || state == GPUAES_FAILED || is_start_thread)
        return state;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    fork_watch();
    (void)pthread_mutex_lock(&life.lock);
    /* An idle device that is just being released becomes OFF first. */
    do {
        if (atomic_load(&life.state) == GPUAES_OFF)
            begin(on_ready, arg);
        while (wait && atomic_load(&life.state) == GPUAES_STARTING)
            (void)pthread_cond_wait(&life.changed, &life.lock);
    } while (wait && atomic_load(&life.state) == GPUAES_OFF);
    (void)pthread_mutex_unlock(&life.lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return gpuaes_state();
}

int gpuaes_application_uses_cuda(void)
{
    return driver_in_use(0);
}

int gpuaes_device(struct gpuaes_device_info *info)
{
    struct visit visit;
    struct device *device = device_enter(&visit);
    if (device == NULL)
        return 0;
    *info = device->info;
    device_leave(device, &visit);
    return 1;
}

const char *gpuaes_build(void)
{
    return driver_build();
}

/* ---- Use ------------------------------------------------------------------- */

void device_hold(void)
{
    atomic_fetch_add(&life.users, 1);
}

void device_unhold(void)
{
    atomic_store(&life.last_use, now_ns(CLOCK_MONOTONIC_COARSE));
    atomic_fetch_sub(&life.users, 1);
}

struct device *device_enter(struct visit *visit)
{
    if (gpuaes_state() != GPUAES_READY && !is_start_thread)
        return NULL;
    device_hold();
    /* Sequentially consistent, as is the watcher's look at `users`. */
    if (atomic_load(&life.state) != GPUAES_READY && !is_start_thread) {
        device_unhold();
        return NULL;
    }
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit->cancel_state);
    struct device *device = &life.device;
    drv_result r = device->driver.ctx_push_current(device->context);
    if (r == DRV_SUCCESS)
        return device;
    (void)device_fault(device, "cuCtxPushCurrent", r);
    (void)pthread_setcancelstate(visit->cancel_state, NULL);
    device_unhold();
    return NULL;
}

void device_leave(struct device *device, struct visit *visit)
{
    drv_context popped;
    drv_result r = device->driver.ctx_pop_current(&popped);
    if (r != DRV_SUCCESS)
        (void)device_fault(device, "cuCtxPopCurrent", r);
    (void)pthread_setcancelstate(visit->cancel_state, NULL);
    device_unhold();
}

enum gpuaes_status device_fault(struct device *device, const char *what, drv_result result)
{
    (void)device;
    statistics_add_fault();
    if (result == DRV_OUT_OF_MEMORY)
        return GPUAES_NO_MEMORY;
    char reason[sizeof life.reason];
    if (result == DRV_NOT_READY)
        (void)snprintf(reason, sizeof reason, "the device did not finish in time");
    else
        (void)snprintf(reason, sizeof reason, "%s failed with CUDA error %d", what, result);
    fail(reason);
    return GPUAES_FAULT;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

drv_result device_wait(const struct device *device, drv_stream stream, drv_event event)
{
    const struct driver *d = &device->driver;
    int64_t begun = now_ns(CLOCK_MONOTONIC);
    for (;;) {
        drv_result r = event != NULL ? d->event_query(event) : d->stream_query(stream);
        if (r != DRV_NOT_READY)
            return r;
        int64_t waited = now_ns(CLOCK_MONOTONIC) - begun;
        if (waited > (int64_t)device->settings.timeout_ms * 1000000)
            return DRV_NOT_READY;
        if (waited < SPIN_NS) {
            relax();
        } else {
            struct timespec t = {0, SLEEP_NS};
            (void)nanosleep(&t, NULL);
        }
    }
}

/* ---- Statuses -------------------------------------------------------------- */

const char *gpuaes_status_text(enum gpuaes_status status)
{
    switch (status) {
    case GPUAES_OK:
        return "success";
    case GPUAES_NOT_READY:
        return "no device is ready";
    case GPUAES_BUSY:
        return "the device is busy";
    case GPUAES_NO_MEMORY:
        return "device or pinned memory is short";
    case GPUAES_BAD_ARGUMENT:
        return "bad argument";
    case GPUAES_BAD_RANGE:
        return "a device range leaves its allocation";
    case GPUAES_BAD_INPUT:
        return "invalid Base64";
    case GPUAES_FAULT:
        return "the device failed";
    case GPUAES_UNDEFINED:
        return "the device failed and the output is undefined";
    }
    return "unknown status";
}
