/*
 * Threads of ours that call the driver where the caller's stack has no room for it, as that of
 * an ASYNC job. They are made when they are needed, and end after some seconds without work.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_HELPER_H
#define GPUAES_HELPER_H

typedef void *helper_fn(void *arg);

/* What is to be called; it stays where it is until it has been. */
struct helper_call {
    helper_fn *function;
    void *arg;
    void (*done)(struct helper_call *); /* called after it, in the same thread; may be NULL */
    struct helper_call *next;
};

/* Has a thread make the call, and does not wait. 1, or 0 where no thread can be made. */
int helper_begin(struct helper_call *call);

#endif
