/*
 * Pairs of events on a stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/stream_events.h"

static struct span *next(struct stream_events *spans)
{
    return &spans->span[(spans->first + spans->count) % SPANS];
}

drv_result stream_events_begin(struct stream_events *spans, const struct driver *driver,
                               drv_stream stream)
{
    drv_result r = DRV_SUCCESS;
    if (spans->count == SPANS) {
        spans->first = (spans->first + 1) % SPANS;
        spans->count--;
    }
    struct span *span = next(spans);
    if (span->before == NULL)
        r = driver->event_create(&span->before, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS && span->after == NULL)
        r = driver->event_create(&span->after, DRV_EVENT_DISABLE_TIMING);
    return r == DRV_SUCCESS ? driver->event_record(span->before, stream) : r;
}

drv_result stream_events_end(struct stream_events *spans, const struct driver *driver,
                             drv_stream stream)
{
    drv_result r = driver->event_record(next(spans)->after, stream);
    spans->count += r == DRV_SUCCESS;
    return r;
}

drv_result stream_events_wait(struct stream_events *spans, const struct device *device)
{
    drv_result r = DRV_SUCCESS;
    for (; spans->count != 0; spans->count--) {
        const struct span *span = &spans->span[spans->first];
        r = device_wait_for_application(device, span->before);
        if (r == DRV_SUCCESS)
            r = device_wait(device, NULL, span->after);
        if (r != DRV_SUCCESS)
            return r;
        spans->first = (spans->first + 1) % SPANS;
    }
    spans->first = 0;
    return r;
}

void stream_events_free(struct stream_events *spans, const struct driver *driver)
{
    for (int i = 0; i < SPANS; i++) {
        if (spans->span[i].before != NULL)
            (void)driver->event_destroy(spans->span[i].before);
        if (spans->span[i].after != NULL)
            (void)driver->event_destroy(spans->span[i].after);
    }
}
