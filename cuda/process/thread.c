/*
 * Threads of the library.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/process/thread.h"

#include <pthread.h>
#include <signal.h>

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
