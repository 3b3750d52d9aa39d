/*
 * Threads of the library.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/process/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

enum { MOST_AUTOMATIC = 4 };

/* The driver runs on its stack: an application may have made the usual size too small. */
static void set_attributes(pthread_attr_t *attributes)
{
    enum { LEAST_STACK = 1 << 20 };
    size_t bytes = 0;
    (void)pthread_attr_init(attributes);
    (void)pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_getstacksize(attributes, &bytes);
    if (bytes < LEAST_STACK)
        (void)pthread_attr_setstacksize(attributes, LEAST_STACK);
}

int thread_begin(void *(*run)(void *))
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    set_attributes(&attributes);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&thread, &attributes, run, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return r == 0;
}

/* ---- Helpers -------------------------------------------------------------------- */

/* A call of thread_pool_run(); on the caller's stack, and in the list while something is left to
 * take. */
struct batch {
    void (*run)(void *arg, unsigned number);
    void *arg;
    unsigned count, taken, done;
    struct batch *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more; /* there is a batch in the list */
    pthread_cond_t done; /* a batch has been done */
    struct batch *first;
    unsigned helpers, idle;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .more = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

/* Under the lock, which is not held while the work runs. */
static void run_next(struct batch *batch)
{
    unsigned number = batch->taken++;
    if (batch->taken == batch->count) {
        struct batch **link = &pool.first;
        while (*link != batch)
            link = &(*link)->next;
        *link = batch->next;
    }
    (void)pthread_mutex_unlock(&pool.lock);
    batch->run(batch->arg, number);
    (void)pthread_mutex_lock(&pool.lock);
    if (++batch->done == batch->count)
        (void)pthread_cond_broadcast(&pool.done);
}

static void *help(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.first == NULL) {
            pool.idle++;
            (void)pthread_cond_wait(&pool.more, &pool.lock);
            pool.idle--;
        }
        run_next(pool.first);
    }
    return NULL;
}

/* Under the lock. */
static void call_helpers(unsigned wanted, unsigned most)
{
    for (unsigned i = 0; i < wanted; i++) {
        if (i >= pool.idle) {
            if (pool.helpers >= most || !thread_begin(help))
                return;
            pool.helpers++;
        }
        (void)pthread_cond_signal(&pool.more);
    }
}

unsigned thread_pool_automatic_threads(void)
{
    cpu_set_t cpus[8]; /* one is refused where the kernel may have more than 1024 */
    if (sched_getaffinity(0, sizeof cpus, cpus) != 0)
        return 1;
    unsigned half = (unsigned)CPU_COUNT_S(sizeof cpus, cpus) / 2;
    return half == 0 ? 1 : half < MOST_AUTOMATIC ? half : MOST_AUTOMATIC;
}

void thread_pool_run(void (*run)(void *arg, unsigned number), void *arg, unsigned count,
                     unsigned most_helpers)
{
    struct batch batch = {.run = run, .arg = arg, .count = count};
    (void)pthread_mutex_lock(&pool.lock);
    batch.next = pool.first;
    pool.first = &batch;
    call_helpers(count - 1, most_helpers);
    while (batch.taken < batch.count)
        run_next(&batch);
    while (batch.done < batch.count)
        (void)pthread_cond_wait(&pool.done, &pool.lock);
    (void)pthread_mutex_unlock(&pool.lock);
}
