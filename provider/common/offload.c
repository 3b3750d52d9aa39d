/*
 * Calls of libgpuaes on a stack with room for the driver.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/offload.h"

#include <openssl/async.h>

#include "provider/common/stack.h"

/* Where the bounds of the stack are not known, a job is. */
int offload_needs_thread(void)
{
    return ASYNC_get_current_job() != NULL || !stack_has_room_for_driver();
}

/* Returns 0 if nothing was called because no thread could be created. */
static int call(void *(*function)(void *), void *arg)
{
    if (offload_needs_thread())
        return stack_call_elsewhere(function, arg);
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
    return call(locate, places);
}

struct copy {
    void *to;
    const void *from;
    size_t len;
    enum gpuaes_status status;
};

/* 1 if a device that was released since it was chosen, for want of work, has been started again. */
static int is_back(enum gpuaes_status status)
{
    return status == GPUAES_NOT_READY && gpuaes_start(NULL, NULL, 1) == GPUAES_READY;
}

static void *copy(void *arg)
{
    struct copy *c = arg;
    c->status = gpuaes_copy(c->to, c->from, c->len);
    if (is_back(c->status))
        c->status = gpuaes_copy(c->to, c->from, c->len);
    return NULL;
}

enum gpuaes_status offload_copy(void *to, const void *from, size_t len)
{
    struct copy c = {to, from, len, GPUAES_OK};
    return call(copy, &c) ? c.status : GPUAES_NO_MEMORY;
}

struct aes {
    const struct offload_aes *work;
    struct gpuaes_stream_binding *queue;
    enum gpuaes_status status;
};

static enum gpuaes_status run_aes(const struct offload_aes *w)
{
    return gpuaes_aes(w->op, w->key, w->iv, w->in, w->out, w->bytes, w->flags, w->report);
}

static void *aes(void *arg)
{
    struct aes *a = arg;
    a->status = run_aes(a->work);
    if ((a->work->flags & GPUAES_WAIT) != 0 && is_back(a->status))
        a->status = run_aes(a->work);
    return NULL;
}

enum gpuaes_status offload_aes(const struct offload_aes *work)
{
    struct aes a = {.work = work, .status = GPUAES_OK};
    return call(aes, &a) ? a.status : GPUAES_BUSY;
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
    return call(base64, &b) ? b.status : GPUAES_BUSY;
}

/* ---- Queues ------------------------------------------------------------------------ */

struct queue_call {
    struct gpuaes_stream_binding *queue;
    void *stream;
    int device;
    unsigned char *iv;
    enum gpuaes_status status;
};

static void *queue_open(void *arg)
{
    struct queue_call *q = arg;
    q->status = gpuaes_stream_binding_open(&q->queue, q->stream, q->device);
    if (is_back(q->status))
        q->status = gpuaes_stream_binding_open(&q->queue, q->stream, q->device);
    return NULL;
}

enum gpuaes_status offload_stream_binding_open(struct gpuaes_stream_binding **queue, void *stream,
                                               int device)
{
    struct queue_call q = {.stream = stream, .device = device};
    if (!call(queue_open, &q))
        return GPUAES_NO_MEMORY;
    *queue = q.status == GPUAES_OK ? q.queue : NULL;
    return q.status;
}

static void *queue_aes(void *arg)
{
    struct aes *a = arg;
    const struct offload_aes *w = a->work;
    a->status = gpuaes_stream_binding_aes(a->queue, w->op, w->key, w->iv, w->in, w->out, w->bytes);
    return NULL;
}

enum gpuaes_status offload_stream_binding_aes(struct gpuaes_stream_binding *queue,
                                              const struct offload_aes *work)
{
    struct aes a = {.work = work, .queue = queue, .status = GPUAES_OK};
    return call(queue_aes, &a) ? a.status : GPUAES_NO_MEMORY;
}

static void *queue_wait(void *arg)
{
    struct queue_call *q = arg;
    q->status = gpuaes_stream_binding_wait(q->queue, q->iv);
    return NULL;
}

enum gpuaes_status offload_stream_binding_wait(struct gpuaes_stream_binding *queue,
                                               unsigned char iv[GPUAES_BLOCK])
{
    struct queue_call q = {.queue = queue, .iv = iv};
    return call(queue_wait, &q) ? q.status : GPUAES_NO_MEMORY;
}

static void *queue_close(void *arg)
{
    gpuaes_stream_binding_close(arg);
    return NULL;
}

void offload_stream_binding_close(struct gpuaes_stream_binding *queue)
{
    if (queue != NULL)
        (void)call(queue_close, queue);
}

/* ---- Keystream --------------------------------------------------------------------- */

static void *keystream_close(void *arg)
{
    gpuaes_keystream_close(arg);
    return NULL;
}

void offload_keystream_close(struct gpuaes_keystream *keystream)
{
    if (keystream != NULL)
        (void)call(keystream_close, keystream);
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
    return call(device, &d) ? d.ordinal : -1;
}
