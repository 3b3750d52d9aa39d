/*
 * Lanes: taking and giving back, and the growth of their buffers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "lane.h"

#include <string.h>
#include <time.h>

#include "device.h"
#include "life.h"
#include "statistics.h"

void lanes_init(struct lanes *lanes)
{
    memset(lanes, 0, sizeof *lanes);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&lanes->lock, NULL);
    (void)pthread_cond_init(&lanes->returned, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static struct lane *find_free(struct lanes *lanes, enum lane_use use)
{
    for (int i = use == LANE_BATCH ? LANES - BATCH_LANES : 0; i < LANES; i++)
        if (!lanes->lane[i].taken && !lanes->lane[i].lost)
            return &lanes->lane[i];
    return NULL;
}

static struct timespec time_limit(void)
{
    int64_t at = device_now_ns() + (int64_t)life_settings()->timeout_ms * 1000000;
    return (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
}

/* Whoever holds a lane for a call gives it back; a batch may never be polled. */
static int wait_for_one(struct lanes *lanes, enum lane_use use, const struct timespec *limit)
{
    if (use == LANE_BATCH)
        return pthread_cond_timedwait(&lanes->returned, &lanes->lock, limit) == 0;
    return pthread_cond_wait(&lanes->returned, &lanes->lock) == 0;
}

struct lane *lane_take(struct device *device, enum lane_use use, unsigned flags)
{
    struct lanes *lanes = &device->lanes;
    (void)pthread_mutex_lock(&lanes->lock);
    struct lane *lane = find_free(lanes, use);
    int waits = (flags & GPUAES_WAIT) != 0;
    struct timespec limit = lane == NULL ? time_limit() : (struct timespec){0, 0};
    while (lane == NULL && waits && atomic_load(&device->use) != DEVICE_LOST) {
        waits = wait_for_one(lanes, use, &limit);
        lane = find_free(lanes, use);
    }
    if (lane != NULL) {
        lane->taken = 1;
        lane->follows = lane->timed_out = 0;
    }
    (void)pthread_mutex_unlock(&lanes->lock);
    return lane;
}

enum gpuaes_status lane_refusal(const struct device *device)
{
    return atomic_load(&device->use) == DEVICE_LOST ? GPUAES_FAULT : GPUAES_BUSY;
}

void lane_return(struct device *device, struct lane *lane, int lost)
{
    struct lanes *lanes = &device->lanes;
    (void)pthread_mutex_lock(&lanes->lock);
    lane->taken = 0;
    lane->lost |= lost;
    /* Not all of those that wait may take it. */
    (void)pthread_cond_broadcast(&lanes->returned);
    (void)pthread_mutex_unlock(&lanes->lock);
}

void lanes_wake(struct device *device)
{
    (void)pthread_mutex_lock(&device->lanes.lock);
    (void)pthread_cond_broadcast(&device->lanes.returned);
    (void)pthread_mutex_unlock(&device->lanes.lock);
}

/* ---- Buffers ---------------------------------------------------------------- */

static void free_staging(const struct driver *driver, struct slot *slot)
{
    if (slot->staging == NULL)
        return;
    gpuaes_cleanse(slot->staging, slot->staging_bytes);
    (void)driver->mem_free_host(slot->staging);
    statistics_give_pinned(slot->staging_bytes);
    slot->staging = NULL;
    slot->staging_address = 0;
    slot->staging_bytes = 0;
}

static void free_buffer(const struct driver *driver, drv_ptr *buffer, size_t *bytes)
{
    if (*buffer != 0)
        (void)driver->mem_free(*buffer);
    *buffer = 0;
    *bytes = 0;
}

static drv_result grow_staging(const struct device *device, struct slot *slot, size_t bytes)
{
    const struct driver *d = device->driver;
    if (slot->staging_bytes >= bytes)
        return DRV_SUCCESS;
    free_staging(d, slot);
    if (!statistics_take_pinned(bytes, life_settings()->pinned_bytes))
        return DRV_OUT_OF_MEMORY;
    void *p = NULL;
    drv_result r = d->mem_host_alloc(&p, bytes, DRV_HOST_ALLOC_PORTABLE | DRV_HOST_ALLOC_MAPPED);
    if (r == DRV_SUCCESS) {
        r = d->mem_host_get_device_pointer(&slot->staging_address, p, 0);
        if (r != DRV_SUCCESS)
            (void)d->mem_free_host(p);
    }
    if (r != DRV_SUCCESS) {
        slot->staging_address = 0;
        statistics_give_pinned(bytes);
        return r;
    }
    slot->staging = p;
    slot->staging_bytes = bytes;
    return DRV_SUCCESS;
}

static drv_result grow_buffer(const struct driver *driver, drv_ptr *buffer, size_t *now,
                              size_t bytes)
{
    if (*now >= bytes)
        return DRV_SUCCESS;
    free_buffer(driver, buffer, now);
    drv_result r = driver->mem_alloc(buffer, bytes);
    if (r == DRV_SUCCESS)
        *now = bytes;
    else
        *buffer = 0;
    return r;
}

static drv_result prepare_slot(const struct device *device, struct slot *slot,
                               const struct lane_needs *needs)
{
    const struct driver *d = device->driver;
    drv_result r = DRV_SUCCESS;
    if (slot->stream == NULL)
        r = d->stream_create(&slot->stream, DRV_STREAM_NON_BLOCKING);
    if (r == DRV_SUCCESS && slot->event == NULL)
        r = d->event_create(&slot->event, DRV_EVENT_DISABLE_TIMING);
    for (int i = 0; i < 2 && r == DRV_SUCCESS; i++)
        r = grow_buffer(d, &slot->buffer[i], &slot->buffer_bytes[i], needs->buffer[i]);
    if (r == DRV_SUCCESS)
        r = grow_buffer(d, &slot->scratch, &slot->scratch_bytes, needs->scratch);
    if (r == DRV_SUCCESS)
        r = grow_staging(device, slot, needs->staging);
    return r;
}

/*
 * Called with nothing under way on the lane but the wiping of its buffers by
 * the work before, which must have ended before anybody touches them again.
 */
drv_result lane_prepare(struct device *device, struct lane *lane, const struct lane_needs *needs)
{
    for (unsigned i = 0; i < needs->slots; i++) {
        struct slot *slot = &lane->slots[i];
        drv_result r = DRV_SUCCESS;
        if (slot->wiping)
            r = device_wait(device, slot->stream, NULL);
        if (r == DRV_SUCCESS) {
            slot->wiping = 0;
            r = prepare_slot(device, slot, needs);
        }
        if (r != DRV_SUCCESS)
            return r;
    }
    return DRV_SUCCESS;
}

drv_result lane_prepare_some(struct device *device, struct lane *lane, struct lane_needs *needs)
{
    drv_result r = lane_prepare(device, lane, needs);
    while (r == DRV_OUT_OF_MEMORY && needs->slots > 1) {
        needs->slots--;
        r = lane_prepare(device, lane, needs);
    }
    return r;
}

/* Once nothing is under way on it. */
static drv_result free_slot(const struct device *device, struct slot *slot)
{
    const struct driver *d = device->driver;
    drv_result r = slot->stream != NULL ? device_wait(device, slot->stream, NULL) : DRV_SUCCESS;
    if (r != DRV_SUCCESS)
        return r;
    free_staging(d, slot);
    for (int b = 0; b < 2; b++)
        free_buffer(d, &slot->buffer[b], &slot->buffer_bytes[b]);
    free_buffer(d, &slot->scratch, &slot->scratch_bytes);
    if (slot->event != NULL)
        (void)d->event_destroy(slot->event);
    if (slot->stream != NULL)
        (void)d->stream_destroy(slot->stream);
    return DRV_SUCCESS;
}

drv_result lanes_free(struct device *device)
{
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &device->lanes.lane[i];
        for (int s = 0; s < LANE_SLOTS; s++) {
            drv_result r = free_slot(device, &lane->slots[s]);
            if (r != DRV_SUCCESS)
                return r;
        }
        if (lane->application != NULL)
            (void)device->driver->event_destroy(lane->application);
    }
    (void)pthread_mutex_destroy(&device->lanes.lock);
    (void)pthread_cond_destroy(&device->lanes.returned);
    return DRV_SUCCESS;
}

/* ---- Work on a lane ----------------------------------------------------------- */

drv_result lane_follow(struct device *device, struct lane *lane, unsigned slots)
{
    const struct driver *d = device->driver;
    drv_result r = DRV_SUCCESS;
    if (lane->application == NULL)
        r = d->event_create(&lane->application, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS)
        r = device_may_use(device, DRV_STREAM_LEGACY);
    if (r == DRV_SUCCESS)
        r = d->event_record(lane->application, DRV_STREAM_LEGACY);
    for (unsigned i = 0; i < slots && r == DRV_SUCCESS; i++)
        r = d->stream_wait_event(lane->slots[i].stream, lane->application, 0);
    lane->follows = r == DRV_SUCCESS;
    return r;
}

drv_result lane_wait(struct device *device, struct lane *lane, const struct slot *slot,
                     drv_event event)
{
    const struct driver *d = device->driver;
    if (lane->timed_out)
        return event != NULL ? d->event_query(event) : d->stream_query(slot->stream);
    drv_result r = DRV_SUCCESS;
    if (lane->follows)
        r = device_wait_for_application(device, lane->application);
    lane->follows = 0;
    if (r == DRV_SUCCESS)
        r = device_wait(device, slot->stream, event);
    lane->timed_out = r == DRV_NOT_READY;
    return r;
}

drv_result slot_wipe(struct slot *slot, const struct driver *driver, drv_ptr p, size_t bytes)
{
    if (p == 0 || bytes == 0)
        return DRV_SUCCESS;
    slot->wiping = 1;
    return driver->memset_d8_async(p, 0, bytes, slot->stream);
}

void lane_cleanse_staging(struct device *device, struct lane *lane)
{
    for (unsigned i = 0; i < LANE_SLOTS; i++) {
        const struct slot *slot = &lane->slots[i];
        if (slot->staging == NULL)
            continue;
        if (slot->wiping)
            (void)lane_wait(device, lane, slot, NULL);
        gpuaes_cleanse(slot->staging, slot->staging_bytes);
    }
}
