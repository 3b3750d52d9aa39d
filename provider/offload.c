/*
 * Calls of libgpuaes, from ASYNC jobs and small stacks too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "offload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine_measure.h"
#include "helper.h"
#include "stack.h"

/* ---- Calls by another thread ------------------------------------------------------- */

struct handed_over {
    struct helper_call call; /* first: it is found by that */
    struct job_wait wait;
};

static void end_wait(struct helper_call *call)
{
    job_wait_end(&((struct handed_over *)call)->wait);
}

/* ORPHANED: it was begun, and this is a forked child now. */
enum { NOT_CALLED, CALLED, ORPHANED };

/* The job pauses meanwhile if the caller has a place where the wait can be found. */
static int hand_over(offload_fn *function, void *arg, struct job_wait **waiting)
{
    struct handed_over h = {.call = {.function = function, .arg = arg, .done = end_wait}};
    job_wait_begin(&h.wait, waiting != NULL);
    if (!helper_begin(&h.call))
        return NOT_CALLED;
    if (waiting != NULL)
        /* cppcheck-suppress autoVariables; taken back below */
        *waiting = &h.wait;
    int result = job_wait_for(&h.wait) ? CALLED : ORPHANED;
    if (waiting != NULL)
        *waiting = NULL;
    return result;
}

/* Where the bounds of the stack are not known, a job is. */
int offload_needs_thread(void)
{
    return job_is_current() || !stack_has_room_for_driver();
}

double offload_hand_over_ns(void)
{
    static const double thread_ns = 20000;
    return offload_needs_thread() ? thread_ns : 0;
}

int offload_call(offload_fn *function, void *arg)
{
    if (offload_needs_thread())
        return hand_over(function, arg, NULL) == CALLED;
    (void)function(arg);
    return 1;
}

static void *locate(void *arg)
{
    struct offload_places *p = arg;
    p->in_kind = p->out_kind = GPUAES_PAGEABLE;
    if (p->in_bytes != 0)
        p->in_kind = gpuaes_memory_kind(p->in, p->in_bytes);
    if (p->in == p->out && p->in_bytes == p->out_bytes)
        p->out_kind = p->in_kind;
    else if (p->out_bytes != 0)
        p->out_kind = gpuaes_memory_kind(p->out, p->out_bytes);
    return NULL;
}

int offload_locate(struct offload_places *places)
{
    return offload_call(locate, places);
}

struct copy {
    void *to;
    const void *from;
    size_t len;
    enum gpuaes_status status;
};

static void *copy(void *arg)
{
    struct copy *c = arg;
    c->status = gpuaes_copy(c->to, c->from, c->len);
    return NULL;
}

enum gpuaes_status offload_copy(void *to, const void *from, size_t len)
{
    struct copy c = {to, from, len, GPUAES_OK};
    return offload_call(copy, &c) ? c.status : GPUAES_NO_MEMORY;
}

struct aes {
    const struct offload_aes *work;
    struct gpuaes_queue *queue;
    enum gpuaes_status status;
    double took_ns;
};

static enum gpuaes_status run_aes(const struct offload_aes *w)
{
    return gpuaes_aes(w->op, w->key, w->iv, w->in, w->out, w->bytes, w->flags, w->report);
}

static void *aes(void *arg)
{
    struct aes *a = arg;
    double begun = measure_now_ns();
    a->status = run_aes(a->work);
    if (a->status == GPUAES_NOT_READY && (a->work->flags & GPUAES_WAIT) != 0 &&
        gpuaes_start(NULL, NULL, 1) == GPUAES_READY)
        a->status = run_aes(a->work);
    a->took_ns = measure_now_ns() - begun;
    return NULL;
}

/* The thread that has begun is in another process; what it did here is not known. */
static enum gpuaes_status find_orphaned(const struct offload_aes *work,
                                        const unsigned char iv[GPUAES_BLOCK])
{
    memcpy(work->iv, iv, GPUAES_BLOCK);
    work->report->parts = 0;
    return work->in == work->out ? GPUAES_UNDEFINED : GPUAES_FAULT;
}

/* Other jobs may have had the thread for longer than the call took. */
static enum gpuaes_status pause_for(struct aes *a, const struct offload_pause *pause)
{
    unsigned char iv[GPUAES_BLOCK];
    memcpy(iv, a->work->iv, sizeof iv);
    double begun = measure_now_ns();
    switch (hand_over(aes, a, pause->waiting)) {
    case NOT_CALLED:
        return GPUAES_BUSY;
    case ORPHANED:
        return find_orphaned(a->work, iv);
    }
    double beside = measure_now_ns() - begun - a->took_ns - offload_hand_over_ns();
    if (beside > 0)
        *pause->beside_ns += beside;
    return a->status;
}

enum gpuaes_status offload_aes(const struct offload_aes *work, const struct offload_pause *pause)
{
    struct aes a = {.work = work, .status = GPUAES_OK};
    if (pause != NULL && job_is_current())
        return pause_for(&a, pause);
    return offload_call(aes, &a) ? a.status : GPUAES_BUSY;
}

/* ---- Base64 ------------------------------------------------------------------------ */

struct base64 {
    struct offload_base64 *work;
    enum gpuaes_status status;
};

static void *base64(void *arg)
{
    struct base64 *b = arg;
    struct offload_base64 *w = b->work;
    b->status = w->decodes
                    ? gpuaes_base64_decode(w->in, w->bytes, w->out, w->flags, &w->offset)
                    : gpuaes_base64_encode(w->in, w->bytes, w->out, w->line_length, w->flags);
    return NULL;
}

enum gpuaes_status offload_base64(struct offload_base64 *work)
{
    struct base64 b = {work, GPUAES_OK};
    return offload_call(base64, &b) ? b.status : GPUAES_BUSY;
}

/* ---- Queues ------------------------------------------------------------------------ */

struct queue_call {
    struct gpuaes_queue *queue;
    void *stream;
    int device;
    unsigned char *iv;
    enum gpuaes_status status;
};

/* Those that could not be closed for want of a thread: the next call does it. */
struct unclosed {
    struct gpuaes_queue *queue;
    struct gpuaes_keystream *keystream;
    struct unclosed *next;
};
static _Atomic(struct unclosed *) unclosed;

static void *close_left(void *arg)
{
    struct unclosed *each = atomic_exchange(&unclosed, NULL);
    while (each != NULL) {
        struct unclosed *next = each->next;
        gpuaes_queue_close(each->queue);
        gpuaes_keystream_close(each->keystream);
        free(each);
        each = next;
    }
    return arg;
}

static void leave_unclosed(struct gpuaes_queue *queue, struct gpuaes_keystream *keystream)
{
    struct unclosed *one = malloc(sizeof *one);
    if (one == NULL)
        return;
    one->queue = queue;
    one->keystream = keystream;
    one->next = atomic_load(&unclosed);
    while (!atomic_compare_exchange_weak(&unclosed, &one->next, one))
        continue;
}

void offload_close_left(void)
{
    if (atomic_load(&unclosed) != NULL)
        (void)offload_call(close_left, NULL);
}

static void *queue_open(void *arg)
{
    struct queue_call *q = arg;
    (void)close_left(NULL);
    q->status = gpuaes_queue_open(&q->queue, q->stream, q->device);
    return NULL;
}

enum gpuaes_status offload_queue_open(struct gpuaes_queue **queue, void *stream, int device)
{
    struct queue_call q = {.stream = stream, .device = device};
    if (!offload_call(queue_open, &q))
        return GPUAES_NO_MEMORY;
    *queue = q.status == GPUAES_OK ? q.queue : NULL;
    return q.status;
}

static void *queue_aes(void *arg)
{
    struct aes *a = arg;
    const struct offload_aes *w = a->work;
    a->status = gpuaes_queue_aes(a->queue, w->op, w->key, w->iv, w->in, w->out, w->bytes);
    return NULL;
}

enum gpuaes_status offload_queue_aes(struct gpuaes_queue *queue, const struct offload_aes *work)
{
    struct aes a = {.work = work, .queue = queue, .status = GPUAES_OK};
    return offload_call(queue_aes, &a) ? a.status : GPUAES_NO_MEMORY;
}

static void *queue_wait(void *arg)
{
    struct queue_call *q = arg;
    q->status = gpuaes_queue_wait(q->queue, q->iv);
    return NULL;
}

enum gpuaes_status offload_queue_wait(struct gpuaes_queue *queue, unsigned char iv[GPUAES_BLOCK])
{
    struct queue_call q = {.queue = queue, .iv = iv};
    return offload_call(queue_wait, &q) ? q.status : GPUAES_NO_MEMORY;
}

static void *queue_close(void *arg)
{
    gpuaes_queue_close(arg);
    return close_left(NULL);
}

void offload_queue_close(struct gpuaes_queue *queue)
{
    if (queue != NULL && !offload_call(queue_close, queue))
        leave_unclosed(queue, NULL);
}

/* ---- Keystream --------------------------------------------------------------------- */

static void *keystream_close(void *arg)
{
    gpuaes_keystream_close(arg);
    return close_left(NULL);
}

void offload_keystream_close(struct gpuaes_keystream *keystream)
{
    if (keystream != NULL && !offload_call(keystream_close, keystream))
        leave_unclosed(NULL, keystream);
}

/* ---- Devices ----------------------------------------------------------------------- */

struct device_call {
    unsigned n;
    int ordinal;
};

static void *device(void *arg)
{
    struct device_call *d = arg;
    struct gpuaes_device_info info;
    d->ordinal = gpuaes_device(d->n, &info) ? info.ordinal : -1;
    return NULL;
}

int offload_device(unsigned n)
{
    struct device_call d = {n, -1};
    return offload_call(device, &d) ? d.ordinal : -1;
}
