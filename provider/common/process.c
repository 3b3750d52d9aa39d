/*
 * Counting forks.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic unsigned generation;

static void after_fork_in_child(void)
{
    atomic_fetch_add(&generation, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

unsigned process_generation(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    return atomic_load(&generation);
}
