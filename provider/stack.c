/*
 * The bounds of the caller's stack.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "stack.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Calls were seen to use 24 KiB; docs/design.md says how. The rest is for signal handlers. */
enum { STACK_FOR_DRIVER = 64 << 10 };

struct bounds {
    uintptr_t begin, end;
};

static struct bounds find_bounds(void)
{
    pthread_attr_t attributes;
    void *begin;
    size_t bytes;
    struct bounds found = {0, UINTPTR_MAX};
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return found;
    if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
        found.begin = (uintptr_t)begin;
        found.end = found.begin + bytes;
    }
    (void)pthread_attr_destroy(&attributes);
    return found;
}

int stack_has_room_for_driver(void)
{
    static _Thread_local struct bounds own;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (own.end == 0)
        own = find_bounds();
    return here >= own.begin && here - own.begin >= STACK_FOR_DRIVER && here < own.end;
}
