/*
 * Windows of registered pages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "window.h"

#include <stdint.h>
#include <unistd.h>

#include "registration.h"

enum { SEGMENT = 16 << 20 };

static unsigned char *segment_end(const struct window *window, unsigned char *segment)
{
    return window->end - segment > SEGMENT ? segment + SEGMENT : window->end;
}

void window_open(struct window *window, const void *p, size_t bytes)
{
    long page = sysconf(_SC_PAGESIZE);
    size_t mask = (page > 0 ? (size_t)page : 4096) - 1;
    unsigned char *first = (unsigned char *)(uintptr_t)p; /* registering takes no const */
    size_t head = (mask + 1 - ((uintptr_t)p & mask)) & mask;
    size_t whole = head < bytes ? (bytes - head) & ~mask : 0;
    window->begin = window->low = window->high = first + (whole != 0 ? head : 0);
    window->end = window->begin + whole;
}

int window_reach(struct window *window, const struct device *device, const unsigned char *upto)
{
    while (window->high < window->end && window->high < upto) {
        unsigned char *next = segment_end(window, window->high);
        if (!registration_begin(device, window->high, (size_t)(next - window->high)))
            return 0;
        window->high = next;
    }
    return 1;
}

void window_pass(struct window *window, const struct device *device, const unsigned char *upto)
{
    while (window->low < window->high && segment_end(window, window->low) <= upto) {
        unsigned char *next = segment_end(window, window->low);
        registration_end(device, window->low);
        window->low = next;
    }
}

void window_close(struct window *window, const struct device *device)
{
    window_pass(window, device, window->end);
}

void window_leak(struct window *window)
{
    for (; window->low < window->high; window->low = segment_end(window, window->low))
        registration_leak();
}

size_t window_span(const struct window *window, const unsigned char *p, size_t bytes)
{
    size_t into = (size_t)(p - window->begin) % SEGMENT;
    size_t room = SEGMENT - into, left = (size_t)(window->end - p);
    size_t span = room < left ? room : left;
    return span < bytes ? span : bytes;
}
