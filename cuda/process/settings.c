/*
 * Settings: merging, defaults.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/process/settings.h"

#include <pthread.h>

#include "base/clock.h"
#include "cuda/process/fork.h"
#include "cuda/process/struct_bytes.h"
#include "cuda/process/thread_pool.h"

enum { DEFAULT_TIMEOUT_MS = 10000, DEFAULT_IDLE_SECONDS = 60 };
#define DEFAULT_PINNED_BYTES ((size_t)256 << 20)
#define DEFAULT_READ_AHEAD_BYTES ((size_t)64 << 20)

static struct {
    pthread_mutex_t lock; /* a leaf */
    int configured, fixed;
    struct gpuaes_settings in_force; /* with defaults once they are fixed */
} settings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 0 stands for a default. */
static uint64_t smaller(uint64_t a, uint64_t b)
{
    return b == 0 || (a != 0 && a < b) ? a : b;
}

static unsigned longer_idle(unsigned a, unsigned b)
{
    if (a == GPUAES_IDLE_DEFAULT || b == GPUAES_IDLE_DEFAULT)
        return a == GPUAES_IDLE_DEFAULT ? b : a;
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

/* Returns 0, having changed nothing, where both name devices and have none in common. */
static int merge(struct gpuaes_settings *into, const struct gpuaes_settings *from)
{
    if (into->devices != 0 && from->devices != 0 && (into->devices & from->devices) == 0)
        return 0;
    into->devices = into->devices == 0 || from->devices == 0 ? into->devices | from->devices
                                                             : into->devices & from->devices;
    into->pinned_bytes = smaller(into->pinned_bytes, from->pinned_bytes);
    into->read_ahead_bytes = smaller(into->read_ahead_bytes, from->read_ahead_bytes);
    into->threads = (unsigned)smaller(into->threads, from->threads);
    into->timeout_ms = into->timeout_ms > from->timeout_ms ? into->timeout_ms : from->timeout_ms;
    into->idle_seconds = longer_idle(into->idle_seconds, from->idle_seconds);
    return 1;
}

static void set_defaults(struct gpuaes_settings *s)
{
    if (s->timeout_ms == 0)
        s->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (s->pinned_bytes == 0)
        s->pinned_bytes = DEFAULT_PINNED_BYTES;
    if (s->threads > GPUAES_SHARDS)
        s->threads = GPUAES_SHARDS;
    if (s->devices == 0)
        s->devices = 1;
    if (s->read_ahead_bytes == 0)
        s->read_ahead_bytes = DEFAULT_READ_AHEAD_BYTES;
    if (s->idle_seconds == GPUAES_IDLE_DEFAULT)
        s->idle_seconds = DEFAULT_IDLE_SECONDS;
}

/* Every value of `wanted` is the one in `is`, or stands for a default. */
static int is_met(const struct gpuaes_settings *wanted, const struct gpuaes_settings *is)
{
    return (wanted->pinned_bytes == 0 || wanted->pinned_bytes == is->pinned_bytes) &&
           (wanted->read_ahead_bytes == 0 || wanted->read_ahead_bytes == is->read_ahead_bytes) &&
           (wanted->threads == 0 || wanted->threads == is->threads) &&
           (wanted->timeout_ms == 0 || wanted->timeout_ms == is->timeout_ms) &&
           (wanted->devices == 0 || wanted->devices == is->devices) &&
           (wanted->idle_seconds == GPUAES_IDLE_DEFAULT ||
            wanted->idle_seconds == is->idle_seconds);
}

int gpuaes_configure(const struct gpuaes_settings *given)
{
    struct gpuaes_settings wanted;
    if (!struct_take(&wanted, sizeof wanted, given) || fork_is_child())
        return 0;
    (void)pthread_mutex_lock(&settings.lock);
    if (!settings.fixed && settings.configured)
        (void)merge(&settings.in_force, &wanted);
    else if (!settings.fixed)
        settings.in_force = wanted;
    settings.configured = 1;
    int met = is_met(&wanted, &settings.in_force);
    (void)pthread_mutex_unlock(&settings.lock);
    return met;
}

int gpuaes_get_settings(struct gpuaes_settings *copy)
{
    if (fork_is_child())
        return 0;
    (void)pthread_mutex_lock(&settings.lock);
    struct gpuaes_settings is = settings.in_force;
    (void)pthread_mutex_unlock(&settings.lock);
    set_defaults(&is);
    if (is.threads == 0)
        is.threads = thread_pool_automatic_threads();
    return struct_give(copy, &is, sizeof is);
}

void settings_fix(void)
{
    (void)pthread_mutex_lock(&settings.lock);
    if (!settings.fixed)
        set_defaults(&settings.in_force);
    settings.fixed = 1;
    (void)pthread_mutex_unlock(&settings.lock);
}

const struct gpuaes_settings *settings_in_force(void)
{
    return &settings.in_force;
}

int64_t settings_timeout_ns(void)
{
    return (int64_t)settings.in_force.timeout_ms * 1000000;
}

struct timespec settings_deadline(void)
{
    return clock_timespec(clock_ns(CLOCK_MONOTONIC) + settings_timeout_ns());
}
