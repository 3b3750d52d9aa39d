/*
 * Temporary registration.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "registration.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "life.h"

/* Ranges at a time: far more than calls can be under way. */
enum { RANGES = 256 };

static struct {
    pthread_mutex_t lock; /* of the ranges */
    struct {
        uintptr_t begin;
        size_t bytes; /* 0: free */
    } ranges[RANGES];

    atomic_int listed; /* ranges in the list */
    atomic_uint ended;
    atomic_int live;    /* registered, or about to be */
    atomic_int forking; /* forks under way: nothing new is registered */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The ranges -------------------------------------------------------------- */

/* Under the lock. */
static int touches(uintptr_t begin, size_t bytes)
{
    for (int i = 0; i < RANGES; i++)
        if (all.ranges[i].bytes != 0 && all.ranges[i].begin < begin + bytes &&
            begin < all.ranges[i].begin + all.ranges[i].bytes)
            return 1;
    return 0;
}

int registration_touches(const void *p, size_t bytes)
{
    if (atomic_load(&all.listed) == 0)
        return 0;
    (void)pthread_mutex_lock(&all.lock);
    int found = touches((uintptr_t)p, bytes);
    (void)pthread_mutex_unlock(&all.lock);
    return found;
}

unsigned registration_count(void)
{
    return atomic_load(&all.ended);
}

static int add_range(const void *p, size_t bytes)
{
    int added = 0;
    (void)pthread_mutex_lock(&all.lock);
    int taken = touches((uintptr_t)p, bytes);
    atomic_fetch_add(&all.listed, 1); /* before it can be found pinned */
    for (int i = 0; i < RANGES && !taken && !added; i++)
        if (all.ranges[i].bytes == 0) {
            all.ranges[i].begin = (uintptr_t)p;
            all.ranges[i].bytes = bytes;
            added = 1;
        }
    if (!added)
        atomic_fetch_sub(&all.listed, 1);
    (void)pthread_mutex_unlock(&all.lock);
    return added;
}

static void remove_range(const void *p)
{
    (void)pthread_mutex_lock(&all.lock);
    for (int i = 0; i < RANGES; i++)
        if (all.ranges[i].bytes != 0 && all.ranges[i].begin == (uintptr_t)p)
            all.ranges[i].bytes = 0;
    atomic_fetch_add(&all.ended, 1);
    atomic_fetch_sub(&all.listed, 1);
    (void)pthread_mutex_unlock(&all.lock);
}

/*
 * A range is in the list before it is registered and until after it has been
 * unregistered: whoever finds it pinned finds it in the list as well, or that
 * `ended` has changed.
 */
int registration_begin(const struct device *device, void *p, size_t bytes)
{
    atomic_fetch_add(&all.live, 1); /* first: a fork looks at it after it has said so */
    int registered = atomic_load(&all.forking) == 0 && add_range(p, bytes);
    if (registered && device->driver->mem_host_register(p, bytes, 0) != DRV_SUCCESS) {
        remove_range(p);
        registered = 0;
    }
    if (!registered)
        atomic_fetch_sub(&all.live, 1);
    return registered;
}

void registration_end(const struct device *device, void *p)
{
    /* Where it fails the context is dead: pages stay pinned, and in the list. */
    if (device->driver->mem_host_unregister(p) == DRV_SUCCESS)
        remove_range(p);
    atomic_fetch_sub(&all.live, 1);
}

void registration_leak(void)
{
    /* It stays in the list. */
    atomic_fetch_sub(&all.live, 1);
}

/* ---- Forks -------------------------------------------------------------------- */

/* No lock, as the thread may have been interrupted anywhere by a signal's handler. */
void registration_before_fork(void)
{
    struct timespec pause = {0, 100000};
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    atomic_fetch_add(&all.forking, 1);
    for (unsigned i = 0; atomic_load(&all.live) > 0 && i / 10 < life_settings()->timeout_ms; i++)
        (void)nanosleep(&pause, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

void registration_after_fork(void)
{
    atomic_fetch_sub(&all.forking, 1);
}
