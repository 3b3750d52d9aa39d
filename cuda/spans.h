/*
 * Which stretches of a stream of the application are ours: each call has an event before its
 * work and one behind it. What lies between them is under our limit of time; what the
 * application has queued before, among and behind our calls may take as long as it likes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_SPANS_H
#define GPUAES_SPANS_H

#include "device.h"

/* The last ones; of those that are older a hang is taken for the application's work. */
enum { SPANS = 8 };

struct spans {
    struct span {
        drv_event before, after; /* made when first used */
    } span[SPANS];
    unsigned first, count; /* not waited for yet */
};

/* Around all that a call queues, with its device entered. Nothing counts that has not ended. */
drv_result spans_begin(struct spans *spans, const struct driver *driver, drv_stream stream);
drv_result spans_end(struct spans *spans, const struct driver *driver, drv_stream stream);

/* Until all of them have been done. DRV_NOT_READY: one took longer than it may. */
drv_result spans_wait(struct spans *spans, const struct device *device);

void spans_free(struct spans *spans, const struct driver *driver);

#endif
