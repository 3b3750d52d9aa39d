/*
 * Stream sets: taking and giving back, and the growth of their buffers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/device/stream_set.h"

#include <string.h>

#include "cuda/device/device.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"

void stream_sets_init(struct stream_sets *sets)
{
    memset(sets, 0, sizeof *sets);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&sets->lock, NULL);
    (void)pthread_cond_init(&sets->returned, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static struct stream_set *find_free(struct stream_sets *sets, enum stream_set_use use)
{
    for (int i = use == STREAM_SET_BATCH ? STREAM_SETS - BATCH_STREAM_SETS : 0; i < STREAM_SETS;
         i++)
        if (!sets->set[i].taken && !sets->set[i].lost)
            return &sets->set[i];
    return NULL;
}

/* Whoever holds a stream set for a call gives it back; a batch may never be polled. */
static int wait_for_one(struct stream_sets *sets, enum stream_set_use use,
                        const struct timespec *limit)
{
    if (use == STREAM_SET_BATCH)
        return pthread_cond_timedwait(&sets->returned, &sets->lock, limit) == 0;
    return pthread_cond_wait(&sets->returned, &sets->lock) == 0;
}

struct stream_set *stream_set_take(struct device *device, enum stream_set_use use, unsigned flags)
{
    struct stream_sets *sets = &device->stream_sets;
    (void)pthread_mutex_lock(&sets->lock);
    struct stream_set *set = find_free(sets, use);
    int waits = (flags & GPUAES_WAIT) != 0;
    struct timespec limit = set == NULL ? settings_deadline() : (struct timespec){0, 0};
    while (set == NULL && waits && atomic_load(&device->use) != DEVICE_LOST) {
        waits = wait_for_one(sets, use, &limit);
        set = find_free(sets, use);
    }
    if (set != NULL) {
        set->taken = 1;
        set->follows = set->timed_out = 0;
    }
    (void)pthread_mutex_unlock(&sets->lock);
    return set;
}

enum gpuaes_status stream_set_refusal(const struct device *device)
{
    return atomic_load(&device->use) == DEVICE_LOST ? GPUAES_FAULT : GPUAES_BUSY;
}

void stream_set_return(struct device *device, struct stream_set *set, int lost)
{
    struct stream_sets *sets = &device->stream_sets;
    (void)pthread_mutex_lock(&sets->lock);
    set->taken = 0;
    set->lost |= lost;
    /* Not all of those that wait may take it. */
    (void)pthread_cond_broadcast(&sets->returned);
    (void)pthread_mutex_unlock(&sets->lock);
}

void stream_sets_wake(struct device *device)
{
    (void)pthread_mutex_lock(&device->stream_sets.lock);
    (void)pthread_cond_broadcast(&device->stream_sets.returned);
    (void)pthread_mutex_unlock(&device->stream_sets.lock);
}

/* ---- Buffers ---------------------------------------------------------------- */

/*
 * Staging memory comes in few sizes, since it has a cap that what was outgrown counts for:
 * what most need, what calls need at most, and batches.
 */
static size_t staging_size(size_t bytes, size_t now)
{
    static const size_t sizes[] = {BUFFER_ROUNDING, (2 << 20) + BUFFER_ROUNDING, 7 << 19};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (bytes <= sizes[i])
            return sizes[i];
    return bytes > 2 * now ? bytes : 2 * now;
}

static void give_staging(struct device *device, struct slot *slot)
{
    const struct block staging = {slot->staging, slot->staging_address, slot->staging_bytes};
    if (slot->staging == NULL)
        return;
    gpuaes_cleanse(slot->staging, slot->staging_bytes);
    memory_pool_give(device, &staging);
    slot->staging = NULL;
    slot->staging_address = 0;
    slot->staging_bytes = 0;
}

static void give_buffer(struct device *device, drv_ptr *buffer, size_t *bytes)
{
    if (*buffer != 0)
        memory_pool_give(device, &(struct block){.address = *buffer, .bytes = *bytes});
    *buffer = 0;
    *bytes = 0;
}

static drv_result grow_staging(struct device *device, struct slot *slot, size_t bytes)
{
    struct block grown;
    if (slot->staging_bytes >= bytes)
        return DRV_SUCCESS;
    drv_result r = memory_pool_take(device, BLOCK_PINNED, bytes,
                                    staging_size(bytes, slot->staging_bytes), &grown);
    if (r != DRV_SUCCESS)
        return r;
    give_staging(device, slot);
    slot->staging = grown.host;
    slot->staging_address = grown.address;
    slot->staging_bytes = grown.bytes;
    return DRV_SUCCESS;
}

/* At least to twice the size, so that all that was outgrown is no more than what there is. */
static drv_result grow_buffer(struct device *device, drv_ptr *buffer, size_t *now, size_t bytes)
{
    struct block grown;
    if (*now >= bytes)
        return DRV_SUCCESS;
    drv_result r =
        memory_pool_take(device, BLOCK_DEVICE, bytes, bytes > 2 * *now ? bytes : 2 * *now, &grown);
    if (r != DRV_SUCCESS)
        return r;
    give_buffer(device, buffer, now);
    *buffer = grown.address;
    *now = grown.bytes;
    return DRV_SUCCESS;
}

static drv_result prepare_slot(struct device *device, struct slot *slot,
                               const struct stream_set_needs *needs)
{
    const struct driver *d = device->driver;
    drv_result r = DRV_SUCCESS;
    if (slot->stream == NULL)
        r = d->stream_create(&slot->stream, DRV_STREAM_NON_BLOCKING);
    if (r == DRV_SUCCESS && slot->event == NULL)
        r = d->event_create(&slot->event, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_OUT_OF_MEMORY) /* fewer slots may do */
        statistics_count(STATISTIC_FAULTS, 1);
    for (int i = 0; i < 2 && r == DRV_SUCCESS; i++)
        r = grow_buffer(device, &slot->buffer[i], &slot->buffer_bytes[i], needs->buffer[i]);
    if (r == DRV_SUCCESS)
        r = grow_buffer(device, &slot->scratch, &slot->scratch_bytes, needs->scratch);
    if (r == DRV_SUCCESS)
        r = grow_staging(device, slot, needs->staging);
    return r;
}

/*
 * Called with nothing under way on the stream set but the wiping of its buffers by
 * the work before, which must have ended before anybody touches them again.
 */
static drv_result prepare_slots(struct device *device, struct stream_set *set,
                                const struct stream_set_needs *needs)
{
    for (unsigned i = 0; i < needs->slots; i++) {
        struct slot *slot = &set->slots[i];
        drv_result r = DRV_SUCCESS;
        if (slot->wiping)
            r = device_wait(device, slot->stream, NULL);
        if (r == DRV_OUT_OF_MEMORY)
            statistics_count(STATISTIC_FAULTS, 1);
        if (r == DRV_SUCCESS) {
            slot->wiping = 0;
            r = prepare_slot(device, slot, needs);
        }
        if (r != DRV_SUCCESS)
            return r;
    }
    return DRV_SUCCESS;
}

drv_result stream_set_prepare(struct device *device, struct stream_set *set,
                              struct stream_set_needs *needs)
{
    drv_result r = prepare_slots(device, set, needs);
    while (r == DRV_OUT_OF_MEMORY && needs->slots > 1) {
        needs->slots--;
        r = prepare_slots(device, set, needs);
    }
    return r;
}

drv_result stream_set_follow(struct device *device, struct stream_set *set, unsigned slots)
{
    const struct driver *d = device->driver;
    drv_result r = DRV_SUCCESS;
    if (set->application == NULL)
        r = d->event_create(&set->application, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS)
        r = device_may_use(device, DRV_STREAM_LEGACY);
    if (r == DRV_SUCCESS)
        r = d->event_record(set->application, DRV_STREAM_LEGACY);
    for (unsigned i = 0; i < slots && r == DRV_SUCCESS; i++)
        r = d->stream_wait_event(set->slots[i].stream, set->application, 0);
    set->follows = r == DRV_SUCCESS;
    return r;
}

/* Once nothing is under way on it; its memory goes to the pool. */
static drv_result end_slot(struct device *device, struct slot *slot)
{
    const struct driver *d = device->driver;
    drv_result r = slot->stream != NULL ? device_wait(device, slot->stream, NULL) : DRV_SUCCESS;
    if (r != DRV_SUCCESS)
        return r;
    give_staging(device, slot);
    for (int b = 0; b < 2; b++)
        give_buffer(device, &slot->buffer[b], &slot->buffer_bytes[b]);
    give_buffer(device, &slot->scratch, &slot->scratch_bytes);
    if (slot->event != NULL)
        (void)d->event_destroy(slot->event);
    if (slot->stream != NULL)
        (void)d->stream_destroy(slot->stream);
    return DRV_SUCCESS;
}

drv_result stream_sets_end(struct device *device)
{
    for (int i = 0; i < STREAM_SETS; i++) {
        struct stream_set *set = &device->stream_sets.set[i];
        for (int s = 0; s < STREAM_SET_SLOTS; s++) {
            drv_result r = end_slot(device, &set->slots[s]);
            if (r != DRV_SUCCESS)
                return r;
        }
        if (set->application != NULL)
            (void)device->driver->event_destroy(set->application);
    }
    (void)pthread_mutex_destroy(&device->stream_sets.lock);
    (void)pthread_cond_destroy(&device->stream_sets.returned);
    return DRV_SUCCESS;
}

/* ---- Work on a stream set ----------------------------------------------------------- */

drv_result stream_set_wait(struct device *device, struct stream_set *set, const struct slot *slot,
                           drv_event event)
{
    const struct driver *d = device->driver;
    if (set->timed_out)
        return event != NULL ? d->event_query(event) : d->stream_query(slot->stream);
    drv_result r = DRV_SUCCESS;
    if (set->follows)
        r = device_wait_for_application(device, set->application);
    set->follows = 0;
    if (r == DRV_SUCCESS)
        r = device_wait(device, slot->stream, event);
    set->timed_out = r == DRV_NOT_READY;
    return r;
}

drv_result slot_wipe_range(struct slot *slot, const struct driver *driver, drv_ptr p, size_t bytes)
{
    if (p == 0 || bytes == 0)
        return DRV_SUCCESS;
    slot->wiping = 1;
    return driver->memset_d8_async(p, 0, bytes, slot->stream);
}

drv_result slot_wipe(struct slot *slot, const struct driver *driver,
                     const struct stream_set_needs *bytes)
{
    const drv_result results[] = {
        slot_wipe_range(slot, driver, slot->buffer[0], bytes->buffer[0]),
        slot_wipe_range(slot, driver, slot->buffer[1], bytes->buffer[1]),
        slot_wipe_range(slot, driver, slot->staging_address, bytes->staging),
        slot_wipe_range(slot, driver, slot->scratch, bytes->scratch)};
    drv_result first = DRV_SUCCESS;
    for (int i = 0; i < 4 && first == DRV_SUCCESS; i++)
        first = results[i];
    return first;
}

void stream_set_cleanse_staging(struct device *device, struct stream_set *set)
{
    for (unsigned i = 0; i < STREAM_SET_SLOTS; i++) {
        const struct slot *slot = &set->slots[i];
        if (slot->staging == NULL)
            continue;
        if (slot->wiping)
            (void)stream_set_wait(device, set, slot, NULL);
        if (device_has_pinned(device->driver, slot->staging))
            gpuaes_cleanse(slot->staging, slot->staging_bytes);
    }
}
