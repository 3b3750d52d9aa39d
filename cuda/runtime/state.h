/*
 * The state of the runtime, which runtime.c and start.c share.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_RUNTIME_STATE_H
#define GPUAES_CUDA_RUNTIME_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda/runtime/runtime.h"

extern struct runtime {
    pthread_mutex_t lock; /* of what follows down to the blank line */
    pthread_cond_t changed;
    int driver_opened;
    gpuaes_ready_fn *on_ready;
    void *on_ready_arg;

    pthread_mutex_t adoption; /* one at a time */
    atomic_int state;         /* written under the lock */
    atomic_int releasing;     /* memory is being freed, however long that takes */
    atomic_int guards, refs;  /* of runtime_enter() and runtime_ref() */
    atomic_int ending;        /* the process is: there are no more guards */
    atomic_uint turns;        /* threads that have asked for a device */
    _Atomic uint64_t in_use;  /* bit n: device n is; written under the lock */
    _Atomic int64_t last_use;
    struct device_reason reason; /* written under the lock until the state is FAILED */
    struct driver driver;
    struct device devices[MAX_DEVICES]; /* by ordinal */
} runtime;

/* 1 in the thread that starts the devices, until they are ready. */
extern _Thread_local int runtime_is_start_thread;

/* Makes the state FAILED, unless it is; the first reason counts. Call with the lock held. */
void runtime_fail(const char *reason);

void runtime_set_use(struct device *device, enum device_use use);

/* For device_start(): the device has marked itself; the last one takes the runtime with it. */
void runtime_lose(const struct device *device, const char *reason);

#endif
