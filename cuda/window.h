/*
 * A buffer of which the whole pages are registered piece by piece, from its
 * beginning to its end, a little ahead of the work.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_WINDOW_H
#define GPUAES_WINDOW_H

#include <stddef.h>

#include "device.h"

struct window {
    unsigned char *begin, *end; /* the whole pages */
    unsigned char *low, *high;  /* the part of them that is registered */
};

void window_open(struct window *window, const void *p, size_t bytes);

/* Registers all whole pages below `upto`. Returns 0 where that fails. */
int window_reach(struct window *window, const struct device *device, const unsigned char *upto);

/* Unregisters the pages below `upto`. */
void window_pass(struct window *window, const struct device *device, const unsigned char *upto);

/* Unregisters, or leaks, the pages that are still registered. */
void window_close(struct window *window, const struct device *device);
void window_leak(struct window *window);

/* Returns how many of `bytes` at `p`, which is registered, one copy may move. */
size_t window_span(const struct window *window, const unsigned char *p, size_t bytes);

#endif
