/*
 * Pairs of events on a stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/stream_events.h"

static struct span *next(struct stream_events *events)
{
    return &events->span[(events->first + events->count) % SPANS];
}

drv_result stream_events_begin(struct stream_events *events, const struct driver *driver,
                               drv_stream stream)
{
    drv_result r = DRV_SUCCESS;
    if (events->count == SPANS) {
        events->first = (events->first + 1) % SPANS;
        events->count--;
    }
    struct span *span = next(events);
    if (span->before == NULL)
        r = driver->event_create(&span->before, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS && span->after == NULL)
        r = driver->event_create(&span->after, DRV_EVENT_DISABLE_TIMING);
    return r == DRV_SUCCESS ? driver->event_record(span->before, stream) : r;
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
        const struct span *span = &events->span[events->first];
        r = device_wait_for_application(device, span->before);
        if (r == DRV_SUCCESS)
            r = device_wait(device, NULL, span->after);
        if (r != DRV_SUCCESS)
            return r;
        events->first = (events->first + 1) % SPANS;
    }
    events->first = 0;
    return r;
}

void stream_events_free(struct stream_events *events, const struct driver *driver)
{
    for (int i = 0; i < SPANS; i++) {
        if (events->span[i].before != NULL)
            (void)driver->event_destroy(events->span[i].before);
        if (events->span[i].after != NULL)
            (void)driver->event_destroy(events->span[i].after);
    }
}
