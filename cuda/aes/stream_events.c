/*
 * Pairs of events on a stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/stream_events.h"

static struct pair *next(struct stream_events *events)
{
    return &events->pair[(events->first + events->count) % STREAM_EVENTS];
}

drv_result stream_events_begin(struct stream_events *events, const struct driver *driver,
                               drv_stream stream)
{
    drv_result r = DRV_SUCCESS;
    if (events->count == STREAM_EVENTS) {
        events->first = (events->first + 1) % STREAM_EVENTS;
        events->count--;
    }
    struct pair *pair = next(events);
    if (pair->before == NULL)
        r = driver->event_create(&pair->before, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS && pair->after == NULL)
        r = driver->event_create(&pair->after, DRV_EVENT_DISABLE_TIMING);
    return r == DRV_SUCCESS ? driver->event_record(pair->before, stream) : r;
}

drv_result stream_events_end(struct stream_events *events, const struct driver *driver,
                             drv_stream stream)
{
    drv_result r = driver->event_record(next(events)->after, stream);
    events->count += r == DRV_SUCCESS;
    return r;
}

drv_result stream_events_wait(struct stream_events *events, const struct device *device)
{
    drv_result r = DRV_SUCCESS;
    for (; events->count != 0; events->count--) {
        const struct pair *pair = &events->pair[events->first];
        r = device_wait_for_application(device, pair->before);
        if (r == DRV_SUCCESS)
            r = device_wait(device, NULL, pair->after);
        if (r != DRV_SUCCESS)
            return r;
        events->first = (events->first + 1) % STREAM_EVENTS;
    }
    events->first = 0;
    return r;
}

void stream_events_free(struct stream_events *events, const struct driver *driver)
{
    for (int i = 0; i < STREAM_EVENTS; i++) {
        if (events->pair[i].before != NULL)
            (void)driver->event_destroy(events->pair[i].before);
        if (events->pair[i].after != NULL)
            (void)driver->event_destroy(events->pair[i].after);
    }
}
