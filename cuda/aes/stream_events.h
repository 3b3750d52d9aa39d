/*
 * Stream events around our work on a stream of the application: each call has one event before
 * its work and one after it. The time limit holds between the two; work that the application
 * has queued before, between and after our calls may take as long as it likes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_STREAM_EVENTS_H
#define GPUAES_CUDA_AES_STREAM_EVENTS_H

#include "cuda/device/device.h"

/* Only the last pairs are kept; a hang in an older one is taken for the application's work. */
enum { STREAM_EVENTS = 8 };

struct stream_events {
    struct pair {
        drv_event before, after; /* made when first used */
    } pair[STREAM_EVENTS];
    unsigned first, count; /* not waited for yet */
};

/*
 * To be called before and after a call's work is queued, with its device entered. A pair that has
 * only begun does not count.
 */
drv_result stream_events_begin(struct stream_events *events, const struct driver *driver,
                               drv_stream stream);
drv_result stream_events_end(struct stream_events *events, const struct driver *driver,
                             drv_stream stream);

/* Waits until all of them are done. Returns DRV_NOT_READY if one exceeds the time limit. */
drv_result stream_events_wait(struct stream_events *events, const struct device *device);

void stream_events_free(struct stream_events *events, const struct driver *driver);

#endif
