/*
 * Threads that make calls for others.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

/* As many as a device has lanes: more could not work. */
enum { MOST = 16, IDLE_SECONDS = 5, LEAST_STACK = 1 << 20 };

/* The lock is taken with no other, and none within it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct helper_call *first, **last;
    unsigned queued, idle, threads;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &pool.first};

static void make_condition(void)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool.more, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* The threads are not here, nor is who waits for them. */
static void after_fork_in_child(void)
{
    (void)pthread_mutex_init(&pool.lock, NULL);
    make_condition();
    pool.first = NULL;
    pool.last = &pool.first;
    pool.queued = pool.idle = pool.threads = 0;
}

static void set_up(void)
{
    make_condition();
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* The next call; NULL after some seconds without one. */
static struct helper_call *next_call(void)
{
    struct timespec until;
    int result = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    pool.idle++;
    while (pool.first == NULL && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&pool.more, &pool.lock, &until);
    pool.idle--;
    struct helper_call *call = pool.first;
    if (call == NULL)
        return NULL;
    pool.first = call->next;
    if (pool.first == NULL)
        pool.last = &pool.first;
    pool.queued--;
    return call;
}

static void *help(void *unused)
{
    struct helper_call *call;
    (void)pthread_mutex_lock(&pool.lock);
    while ((call = next_call()) != NULL) {
        (void)pthread_mutex_unlock(&pool.lock);
        (void)call->function(call->arg);
        if (call->done != NULL)
            call->done(call);
        (void)pthread_mutex_lock(&pool.lock);
    }
    pool.threads--;
    (void)pthread_mutex_unlock(&pool.lock);
    return unused;
}

/* The driver runs on its stack: an application may have made the usual size too small. */
static void set_attributes(pthread_attr_t *attributes)
{
    size_t bytes = 0;
    (void)pthread_attr_init(attributes);
    (void)pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_getstacksize(attributes, &bytes);
    if (bytes < LEAST_STACK)
        (void)pthread_attr_setstacksize(attributes, LEAST_STACK);
}

/* With all signals blocked: they are for the application's threads. */
static int make_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    set_attributes(&attributes);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int made = pthread_create(&thread, &attributes, help, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return made;
}

/* Where there is a thread, however busy, a call may wait for it. */
static int find_thread(void)
{
    if (pool.idle > pool.queued || pool.threads == MOST)
        return 1;
    int made = make_thread();
    pool.threads += (unsigned)made;
    return pool.threads != 0;
}

int helper_begin(struct helper_call *call)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, set_up);
    call->next = NULL;
    (void)pthread_mutex_lock(&pool.lock);
    int found = find_thread();
    if (found) {
        *pool.last = call;
        pool.last = &call->next;
        pool.queued++;
        (void)pthread_cond_signal(&pool.more);
    }
    (void)pthread_mutex_unlock(&pool.lock);
    return found;
}
