/*
 * Fork detection: a page that the kernel wipes in children (Linux 4.14), which
 * also covers forks that run no pthread_atfork() handlers, and such a handler
 * for kernels that cannot.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/process/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/process/statistics.h"

static _Atomic(atomic_int *) watched; /* points to 1 in the process that watches */
static atomic_int fallback;           /* used where no page can be had */

static void in_child(void)
{
    atomic_int *flag = atomic_load(&watched);
    if (flag != NULL)
        atomic_store(flag, 0);
    statistics_reset();
}

static void begin(void)
{
    long page = sysconf(_SC_PAGESIZE);
    size_t bytes = page > 0 ? (size_t)page : 4096;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_int *flag = &fallback;
    if (p != MAP_FAILED) {
        flag = p;
#ifdef MADV_WIPEONFORK
        (void)madvise(p, bytes, MADV_WIPEONFORK);
#endif
    }
    atomic_store(flag, 1);
    atomic_store(&watched, flag);
    (void)pthread_atfork(NULL, NULL, in_child);
}

void fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, begin);
}

int fork_is_child(void)
{
    atomic_int *flag = atomic_load_explicit(&watched, memory_order_acquire);
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed) == 0;
}
