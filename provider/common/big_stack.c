/*
 * Calls of libgpuaes on a stack with room for the driver. It needs more than the 32 KiB of an ASYNC
 * job, of a thread with a small stack, or of a coroutine of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "provider/common/big_stack.h"

#include <openssl/async.h>
#include <pthread.h>
#include <signal.h>

#include "provider/common/statistics.h"

/* ---- Stacks ------------------------------------------------------------------------- */

/*
 * Calls use up to 26 KiB: see docs/decisions/small-stacks.md. The rest is for signal
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

static _Thread_local struct bounds own;

/*
 * Returns 1 if the caller runs on its thread's own stack and enough of that is left, 0 otherwise.
 * The size of another stack, such as an ASYNC job's, is not known: 0. Costs a system call or, in
 * the main thread, a look into /proc the first time in each thread, then nothing. Where the
 * bounds cannot be found it returns 1.
 */
static int has_room_for_driver(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (own.end == 0)
        own = find_bounds();
    return here >= own.begin && here - own.begin >= STACK_FOR_DRIVER && here < own.end;
}

/* Where the bounds of the stack are not known, a job is. */
int big_stack_needs_thread(void)
{
    return ASYNC_get_current_job() != NULL || !has_room_for_driver();
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

struct call {
    big_stack_fn *function;
    void *arg;
    enum gpuaes_status status;
};

/* A thread whose stack has that room, as its attributes say. */
static void *make_call(void *arg)
{
    struct call *call = arg;
    own.end = UINTPTR_MAX;
    call->status = call->function(call->arg);
    return NULL;
}

/*
 * Makes the call on a stack that has that room, a new thread's, and waits for it. Takes some 50 us
 * more than the call itself. Signals of the caller's thread stay pending meanwhile: a handler that
 * forked would leave its child waiting for a thread that the child does not have.
 */
static enum gpuaes_status call_elsewhere(big_stack_fn *function, void *arg)
{
    struct call call = {function, arg, GPUAES_NO_MEMORY};
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    int cancel_state; /* the thread works on the caller's stack */
    set_attributes(&attributes);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, make_call, &call) == 0)
        (void)pthread_join(thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    (void)pthread_attr_destroy(&attributes);
    return call.status;
}

/* ---- Calls -------------------------------------------------------------------------- */

enum gpuaes_status run_on_big_stack(big_stack_fn *function, void *arg, unsigned flags)
{
    enum gpuaes_status status;
    int may_repeat = (flags & GPUAES_WAIT) != 0;
    do
        status = big_stack_needs_thread() ? call_elsewhere(function, arg) : function(arg);
    while (status == GPUAES_NOT_READY && may_repeat-- > 0 &&
           gpuaes_start(NULL, NULL, 1) == GPUAES_READY);
    statistics_tell();
    return status;
}
