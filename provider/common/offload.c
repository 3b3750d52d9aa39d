/*
 * Calls of libgpuaes on a stack with room for the driver. It needs more than the 32 KiB of an ASYNC
 * job, of a thread with a small stack, or of a coroutine of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "provider/common/offload.h"

#include <openssl/async.h>
#include <pthread.h>
#include <signal.h>

#include "provider/common/statistics.h"

/* ---- Stacks ------------------------------------------------------------------------- */

/*
 * Calls were seen to use 24 KiB: see docs/decisions/small-stacks.md. The rest is for signal
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
int offload_needs_thread(void)
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

/* A thread whose stack has that room, as its attributes say. */
static void *make_call(void *arg)
{
    struct work *work = arg;
    own.end = UINTPTR_MAX;
    (void)offload(work, work->call);
    return NULL;
}

/*
 * Makes the call on a stack that has that room, a new thread's, and waits for it. Returns 0
 * without having called anything if no thread can be created. Takes some 50 us more than
 * the call itself. Signals of the caller's thread stay pending meanwhile: a handler that forked
 * would leave its child waiting for a thread that the child does not have.
 */
static int call_elsewhere(struct work *work)
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    int cancel_state; /* the thread works on the caller's stack */
    set_attributes(&attributes);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int created = pthread_create(&thread, &attributes, make_call, work) == 0;
    if (created)
        (void)pthread_join(thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    (void)pthread_attr_destroy(&attributes);
    return created;
}

/* ---- Calls -------------------------------------------------------------------------- */

static enum gpuaes_memory kind_of(const void *p, size_t bytes)
{
    return bytes == 0 ? GPUAES_PAGEABLE : gpuaes_memory_kind(p, bytes);
}

static void locate(struct work *w)
{
    w->in_kind = kind_of(w->in, w->len);
    w->out_kind =
        w->in == w->out && w->len == w->out_len ? w->in_kind : kind_of(w->out, w->out_len);
}

static int find_ordinal(unsigned n)
{
    struct gpuaes_device_info info = {.struct_bytes = sizeof info};
    return gpuaes_device(n, &info) ? info.ordinal : -1;
}

enum gpuaes_status offload(struct work *w, enum offload_call call)
{
    enum gpuaes_op op = (enum gpuaes_op)w->kind;
    int again = (w->flags & GPUAES_WAIT) != 0;
    w->call = call;
    if (offload_needs_thread())
        return call_elsewhere(w) ? w->status : GPUAES_NO_MEMORY;
    do {
        w->status = GPUAES_OK;
        switch (call) {
        case OFFLOAD_LOCATE:
            locate(w);
            break;
        case OFFLOAD_COPY:
            w->status = gpuaes_copy(w->out, w->in, w->len);
            break;
        case OFFLOAD_AES:
            w->status = gpuaes_aes(op, w->key, w->iv, w->in, w->out, w->len, w->flags, w->report);
            break;
        case OFFLOAD_GCM:
            w->status = gpuaes_gcm(op, w->gcm_key, w->gcm_state, w->in, w->out, w->len, w->flags,
                                   w->report);
            break;
        case OFFLOAD_ENCODE:
            w->status = gpuaes_base64_encode(w->in, w->len, w->out, w->line_length, w->flags);
            break;
        case OFFLOAD_DECODE:
            w->status = gpuaes_base64_decode(w->in, w->len, w->out, w->flags, &w->offset);
            break;
        case OFFLOAD_BIND:
            w->status = gpuaes_stream_binding_open(&w->binding, w->stream, w->device);
            break;
        case OFFLOAD_QUEUE:
            w->status =
                gpuaes_stream_binding_aes(w->binding, op, w->key, w->iv, w->in, w->out, w->len);
            break;
        case OFFLOAD_QUEUE_GCM:
            w->status = gpuaes_stream_binding_gcm(w->binding, op, w->gcm_key, w->gcm_state->counter,
                                                  w->begins, w->in, w->out, w->len);
            break;
        case OFFLOAD_HASH:
            w->status = gpuaes_stream_binding_hash(w->binding, w->gcm_key, w->gcm_state->hash);
            break;
        case OFFLOAD_WAIT:
            w->status = gpuaes_stream_binding_wait(w->binding, w->iv);
            break;
        case OFFLOAD_CLOSE:
            gpuaes_stream_binding_close(w->binding);
            gpuaes_keystream_close(w->keystream);
            break;
        case OFFLOAD_DEVICE:
            w->device = find_ordinal((unsigned)w->device);
            break;
        }
    } while (w->status == GPUAES_NOT_READY && again-- > 0 &&
             gpuaes_start(NULL, NULL, 1) == GPUAES_READY);
    statistics_tell();
    return w->status;
}

int offload_device(unsigned n)
{
    struct work w = {.device = (int)n};
    return offload(&w, OFFLOAD_DEVICE) == GPUAES_OK ? w.device : -1;
}
