/*
 * Text on a stream. The counter follows from the length, so the next update can be queued at once;
 * the hash stays on the device until the CPU needs it: for part of a block, or for the tag.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_stream.h"

#include "base/counter.h"

int gcm_stream_open(struct gcm_context *c, uint64_t handle)
{
    if (!gcm_stream_close(c))
        return 0;
    c->stream.handle = handle;
    return stream_bind(c->provider, &c->stream);
}

/* BUSY, and NO_MEMORY, which waits for nothing, leave all as it was. */
static enum gpuaes_status sync(struct gcm_context *c)
{
    int is_queued = c->side == GCM_BY_GPU && c->message.is_queued;
    enum gpuaes_status status =
        stream_wait(c->provider, c->stream.binding, NULL, is_queued ? gcm_schedule(c) : NULL,
                    c->message.state.hash);
    if (!is_queued || stream_can_repeat(status))
        return status;
    c->message.is_queued = 0;
    if (status != GPUAES_OK) /* its hash is lost */
        gcm_end_message(c);
    return status;
}

int gcm_stream_sync(struct gcm_context *c)
{
    return c->stream.binding == NULL || sync(c) == GPUAES_OK;
}

static enum gpuaes_status queue(struct gcm_context *c, const struct work *work, int begins)
{
    const struct device_call call = {.op = c->encrypting ? GPUAES_GCM_ENCRYPT : GPUAES_GCM_DECRYPT,
                                     .gcm_key = gcm_schedule(c),
                                     .state = &c->message.state,
                                     .in = work->in,
                                     .out = work->out,
                                     .len = work->len};
    return stream_queue(c->stream.binding, &call, begins);
}

void gcm_stream_drop(struct gcm_context *c)
{
    static const struct work nothing;
    if (c->stream.binding == NULL || !c->message.is_queued)
        return;
    (void)queue(c, &nothing, 1);
    c->message.is_queued = 0;
}

int gcm_stream_close(struct gcm_context *c)
{
    enum gpuaes_status status = c->stream.binding == NULL ? GPUAES_OK : sync(c);
    if (stream_can_repeat(status))
        return 0;
    stream_unbind(&c->stream.binding);
    return status == GPUAES_OK;
}

/* In memory that the device reaches by itself. */
static int can_be_queued(const struct gcm_context *c, const struct work *work)
{
    return work->in_kind != GPUAES_PAGEABLE && work->out_kind != GPUAES_PAGEABLE &&
           work->len % GPUAES_BLOCK == 0 && c->message.text_bytes % GPUAES_BLOCK == 0;
}

int gcm_stream_queue(struct gcm_context *c, const struct work *work)
{
    enum gpuaes_status status = GPUAES_BAD_RANGE;
    if (c->stream.binding == NULL)
        return -1;
    if (can_be_queued(c, work))
        status = queue(c, work, !c->message.is_queued);
    if (status == GPUAES_OK) {
        counter_add(c->message.state.counter, COUNTER_GCM, work->len / GPUAES_BLOCK);
        c->message.text_bytes += work->len;
        c->message.is_queued = 1;
        return 1;
    }
    if (status != GPUAES_BUSY && status != GPUAES_FAULT)
        return gcm_stream_sync(c) ? -1 : 0;
    stream_raise(c->provider, status);
    if (status == GPUAES_FAULT)
        gcm_end_message(c);
    return 0;
}
