/*
 * The bounds of the caller's stack, and calls on another one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "provider/common/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Calls were seen to use 24 KiB: see docs/decisions/small-stacks.md. The rest is for signal
 * handlers.
 */
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

/* An application may have made the usual size of stacks too small. */
static void set_attributes(pthread_attr_t *attributes)
{
    enum { LEAST_STACK = 1 << 20 };
    size_t bytes = 0;
    (void)pthread_attr_init(attributes);
    (void)pthread_attr_getstacksize(attributes, &bytes);
    if (bytes < LEAST_STACK)
        (void)pthread_attr_setstacksize(attributes, LEAST_STACK);
}

int stack_call_elsewhere(void *(*function)(void *), void *arg)
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    int cancel_state; /* the thread works on the caller's stack */
    set_attributes(&attributes);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int created = pthread_create(&thread, &attributes, function, arg) == 0;
    if (created)
        (void)pthread_join(thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    (void)pthread_attr_destroy(&attributes);
    return created;
}
