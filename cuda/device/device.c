/*
 * One device: start and release, faults, waiting.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/device/device.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cuda/device/ring.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"

/*
 * A sleep before 400 us are over would be one of 3 to 6 us, and end 4 us late: it saves nothing.
 * Long waits end late by a 64th, and what a sleep takes longer than it was asked for: 4 us on the
 * hosts where that was measured. Their limit is that of ten looks at least.
 */
enum { SPIN_NS = 400000, SLEEP_MOST_NS = 1000000, SLEEP_SHARE = 64, LOOKS_LEAST = 10 };

/* ---- Start and release ------------------------------------------------------ */

int device_call_failed(struct device_reason *reason, const char *function, drv_result result)
{
    if (result == DRV_SUCCESS)
        return 0;
    statistics_count(STATISTIC_FAULTS, 1);
    (void)snprintf(reason->text, sizeof reason->text, "%s failed with CUDA error %d", function,
                   result);
    return 1;
}

/* Returns 1 if there are kernels for a driver of that version, or 0 with a sentence. */
static int has_image(int driver_version, struct device_reason *reason)
{
    int oldest = kernels_oldest_cuda();
    if (oldest == 0)
        (void)snprintf(reason->text, sizeof reason->text,
                       "GPUAES_IMAGE is \"%.40s\", expected the major version of a toolkit that "
                       "compiled the kernels",
                       getenv("GPUAES_IMAGE"));
    else if (driver_version < oldest)
        (void)snprintf(
            reason->text, sizeof reason->text,
            "the kernels need driver %s or newer, for CUDA %d.0; this driver is for CUDA "
            "%d.%d",
            oldest < 13000 ? "525" : "580", oldest / 1000, driver_version / 1000,
            driver_version % 1000 / 10);
    return oldest != 0 && driver_version >= oldest;
}

static int describe(struct device *device, struct device_reason *reason)
{
    const struct driver *d = device->driver;
    struct gpuaes_device_info *info = &device->info;
    int mode = 0;
    const struct {
        int attribute, *value;
    } wanted[] = {{DRV_ATTR_CC_MAJOR, &info->compute_major},
                  {DRV_ATTR_CC_MINOR, &info->compute_minor},
                  {DRV_ATTR_MULTIPROCESSOR_COUNT, &info->multiprocessors},
                  {DRV_ATTR_COMPUTE_MODE, &mode}};
    info->ordinal = device->ordinal;
    if (device_call_failed(reason, "cuDeviceGetName",
                           d->device_get_name(info->name, sizeof info->name, device->ordinal)) ||
        device_call_failed(reason, "cuDriverGetVersion",
                           d->driver_get_version(&info->driver_version)))
        return 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (device_call_failed(
                reason, "cuDeviceGetAttribute",
                d->device_get_attribute(wanted[i].value, wanted[i].attribute, device->ordinal)))
            return 0;
    const char *unknown = kernels_unknown_family();
    if (unknown != NULL) {
        (void)snprintf(reason->text, sizeof reason->text,
                       "GPUAES_KERNEL is \"%.40s\", expected small, two_table or hybrid", unknown);
        return 0;
    }
    if (!has_image(info->driver_version, reason))
        return 0;
    if (mode == DRV_COMPUTE_MODE_PROHIBITED) {
        (void)snprintf(reason->text, sizeof reason->text, "%s is in prohibited compute mode",
                       info->name);
        return 0;
    }
    return 1;
}

int device_start(struct device *device, const struct driver *driver, int ordinal,
                 device_lost_fn *on_lost, struct device_reason *reason)
{
    device->driver = driver;
    device->on_lost = on_lost;
    if (device_call_failed(reason, "cuDeviceGet", driver->device_get(&device->ordinal, ordinal)) ||
        !describe(device, reason))
        return 0;
    stream_sets_init(&device->stream_sets);
    memory_pool_init(&device->pool);
    return !device_call_failed(reason, "cuDevicePrimaryCtxRetain",
                               driver->primary_ctx_retain(&device->context, device->ordinal));
}

/*
 * Keeps what was freed until the pool is destroyed: by default, memory goes back at each wait, and
 * to get it again takes a hundred microseconds. A stream takes what another one has freed only
 * where it does not have to wait for that.
 */
static drv_result open_stream_pool(struct device *device)
{
    const struct driver *d = device->driver;
    const struct drv_pool_properties properties = {.allocation_type = DRV_POOL_PINNED,
                                                   .location_type = DRV_POOL_OF_DEVICE,
                                                   .location = device->ordinal};
    uint64_t kept = UINT64_MAX;
    int waits = 0, has_pools = 0;
    device->stream_pool = NULL;
    drv_result r = d->device_get_attribute(&has_pools, DRV_ATTR_MEMORY_POOLS, device->ordinal);
    if (r != DRV_SUCCESS || !has_pools)
        return r;
    r = d->mem_pool_create(&device->stream_pool, &properties);
    if (r != DRV_SUCCESS)
        return r;
    r = d->mem_pool_set_attribute(device->stream_pool, DRV_POOL_RELEASE_THRESHOLD, &kept);
    if (r == DRV_SUCCESS)
        r = d->mem_pool_set_attribute(device->stream_pool, DRV_POOL_INTERNAL_DEPENDENCIES, &waits);
    if (r != DRV_SUCCESS)
        (void)d->mem_pool_destroy(device->stream_pool);
    return r;
}

static int load_entered(struct device *device, struct device_reason *reason)
{
    const struct driver *d = device->driver;
    if (device_call_failed(reason, "loading the kernels",
                           kernels_load(d, device->ordinal, &device->kernels)))
        return 0;
    if (!device_call_failed(reason, "making a memory pool", open_stream_pool(device)))
        return 1;
    (void)d->module_unload(device->kernels.module);
    return 0;
}

int device_load(struct device *device, struct device_reason *reason)
{
    const struct driver *d = device->driver;
    drv_context popped;
    int ok = !device_call_failed(reason, "cuCtxPushCurrent", d->ctx_push_current(device->context));
    if (ok) {
        ok = load_entered(device, reason);
        (void)d->ctx_pop_current(&popped);
    }
    if (!ok)
        (void)d->primary_ctx_release(device->ordinal);
    return ok;
}

drv_result device_release(struct device *device)
{
    drv_context popped;
    drv_result r = device->driver->ctx_push_current(device->context);
    if (r != DRV_SUCCESS)
        return r;
    r = rings_free(device);
    if (r == DRV_SUCCESS)
        r = stream_sets_end(device);
    if (r == DRV_SUCCESS)
        memory_pool_free(device);
    if (r == DRV_SUCCESS)
        (void)device->driver->module_unload(device->kernels.module);
    /* Waits for nothing: memory of work that is under way goes when that is done. */
    if (r == DRV_SUCCESS && device->stream_pool != NULL)
        (void)device->driver->mem_pool_destroy(device->stream_pool);
    (void)device->driver->ctx_pop_current(&popped);
    if (r != DRV_SUCCESS)
        return r;
    return device->driver->primary_ctx_release(device->ordinal);
}

int device_has_pinned(const struct driver *driver, const void *p)
{
    int attribute = DRV_POINTER_MEMORY_TYPE;
    unsigned type = 0;
    void *value = &type;
    drv_result r = driver->pointer_get_attributes(1, &attribute, &value, (drv_ptr)(uintptr_t)p);
    if (r == DRV_SUCCESS)
        return type == DRV_MEMORY_HOST;
    statistics_count(STATISTIC_FAULTS, 1);
    return r != DRV_INVALID_CONTEXT && r != DRV_DEINITIALIZED; /* a lost device answers nothing */
}

/* ---- Use --------------------------------------------------------------------- */

int device_enter(struct device *device)
{
    drv_result r = device->driver->ctx_push_current(device->context);
    if (r != DRV_SUCCESS)
        (void)device_fault(device, "cuCtxPushCurrent", r);
    return r == DRV_SUCCESS;
}

void device_leave(struct device *device)
{
    drv_context popped;
    drv_result r = device->driver->ctx_pop_current(&popped);
    if (r != DRV_SUCCESS)
        (void)device_fault(device, "cuCtxPopCurrent", r);
}

drv_result device_may_use(const struct device *device, drv_stream stream)
{
    int status = DRV_NOT_CAPTURED;
    drv_result r = device->driver->stream_is_capturing(stream, &status);
    return r == DRV_SUCCESS && status != DRV_NOT_CAPTURED ? DRV_CAPTURE_FIRST : r;
}

enum gpuaes_status device_fault(struct device *device, const char *what, drv_result result)
{
    if (result >= DRV_CAPTURE_FIRST && result <= DRV_CAPTURE_LAST)
        return GPUAES_BUSY; /* with the application's capture of a graph, not broken */
    statistics_count(STATISTIC_FAULTS, 1);
    if (result == DRV_OUT_OF_MEMORY)
        return GPUAES_NO_MEMORY;
    struct device_reason reason;
    if (result == DRV_NOT_READY)
        (void)snprintf(reason.text, sizeof reason.text, "the device did not finish in time");
    else
        (void)snprintf(reason.text, sizeof reason.text, "%s failed with CUDA error %d", what,
                       result);
    atomic_store(&device->use, DEVICE_LOST);
    device->on_lost(device, reason.text);
    stream_sets_wake(device);
    return GPUAES_FAULT;
}

enum gpuaes_status device_fault_midway(struct device *device, const char *what, drv_result result)
{
    return device_fault(device, what, result == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : result);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void sleep_after(int64_t waited)
{
    struct timespec t =
        clock_timespec((int64_t)min_u64((uint64_t)waited / SLEEP_SHARE, SLEEP_MOST_NS));
    (void)nanosleep(&t, NULL);
}

/*
 * Lets sleeps of this thread end on time, prctl(2): the kernel adds up to 50 us to each by default.
 * Returns what was set before, below 1 where that is not known.
 */
static int set_timer_slack(int ns)
{
    int before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)ns, 0, 0, 0);
    return before;
}

static drv_result query(const struct driver *d, drv_stream stream, drv_event event)
{
    return event != NULL ? d->event_query(event) : d->stream_query(stream);
}

static drv_result wait_within(const struct driver *d, drv_stream stream, drv_event event,
                              int64_t limit_ns)
{
    int64_t looked = clock_ns(CLOCK_MONOTONIC), waited = 0;
    const int64_t most = limit_ns / LOOKS_LEAST;
    int slack = 0;
    drv_result r;
    while ((r = query(d, stream, event)) == DRV_NOT_READY && waited <= limit_ns) {
        if (waited < SPIN_NS) {
            relax();
        } else {
            if (slack == 0)
                slack = set_timer_slack(1);
            sleep_after(waited);
        }
        int64_t now = clock_ns(CLOCK_MONOTONIC), turn = now - looked;
        /* A long turn is of a process that was stopped, perhaps with its whole machine. */
        waited += turn < most ? turn : most;
        looked = now;
    }
    if (slack > 0)
        (void)set_timer_slack(slack);
    return r;
}

drv_result device_wait(const struct device *device, drv_stream stream, drv_event event)
{
    return wait_within(device->driver, stream, event, settings_timeout_ns());
}

drv_result device_wait_for_application(const struct device *device, drv_event event)
{
    return wait_within(device->driver, NULL, event, INT64_MAX);
}
