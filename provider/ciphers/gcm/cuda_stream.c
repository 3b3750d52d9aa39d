/*
 * Text on a stream. The counter follows from the length, so the next update can be queued at once;
 * the hash stays on the device until the CPU needs it: for part of a block, or for the tag.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/cuda_stream.h"

#include "provider/ciphers/gcm/cpu.h"
#include "provider/common/errors.h"

/* The legacy stream is that of the first device in use. */
int gcm_stream_open(struct gcm_context *c, uint64_t handle)
{
    struct work work = {.stream = (void *)(uintptr_t)(handle == GCM_STREAM_LEGACY ? 0 : handle),
                        .flags = GPUAES_WAIT};
    if (!gcm_stream_close(c))
        return 0;
    work.device = offload_device(0);
    enum gpuaes_status status = offload(&work, OFFLOAD_BIND);
    if (status == GPUAES_OK) {
        c->stream.binding = work.binding;
        c->stream.handle = handle;
        return 1;
    }
    error_raise(c->provider, status == GPUAES_BAD_ARGUMENT ? ERROR_BAD_PARAMETER : ERROR_NO_DEVICE,
                "cuda-stream cannot be used: %s", gpuaes_status_text(status));
    return 0;
}

static void raise_captured(const struct gcm_context *c)
{
    error_raise(c->provider, ERROR_CAPTURED,
                "cuda-stream takes no update and cannot be waited for until that ends; nothing "
                "was done, and the call can be repeated then");
}

int gcm_stream_sync(struct gcm_context *c)
{
    struct work work = {.binding = c->stream.binding, .gcm_state = &c->ours.state};
    if (c->stream.binding == NULL)
        return 1;
    enum gpuaes_status status;
    if (c->side == GCM_OURS) {
        work.gcm_key = gcm_schedule(c);
        status = offload(&work, OFFLOAD_HASH);
    } else
        status = offload(&work, OFFLOAD_WAIT);
    if (status == GPUAES_OK)
        return 1;
    if (status == GPUAES_BUSY) {
        raise_captured(c);
        return 0;
    }
    c->ours.lost = status != GPUAES_NO_MEMORY; /* which queues and waits for nothing */
    error_raise(c->provider,
                status == GPUAES_NO_MEMORY ? ERROR_OUT_OF_MEMORY : ERROR_OUTPUT_UNDEFINED,
                "work queued on cuda-stream: %s", gpuaes_status_text(status));
    return 0;
}

void gcm_stream_unbind(struct gcm_context *c)
{
    struct work work = {.binding = c->stream.binding};
    if (c->stream.binding != NULL)
        (void)offload(&work, OFFLOAD_CLOSE);
    c->stream.binding = NULL;
}

int gcm_stream_close(struct gcm_context *c)
{
    if (!gcm_stream_sync(c) && !c->ours.lost)
        return 0;
    gcm_stream_unbind(c);
    return 1;
}

/* In memory that the device reaches by itself. */
static int can_be_queued(const struct gcm_context *c, const struct work *work)
{
    return work->in_kind != GPUAES_PAGEABLE && work->out_kind != GPUAES_PAGEABLE &&
           work->len % GPUAES_BLOCK == 0 && c->ours.text_bytes % GPUAES_BLOCK == 0;
}

int gcm_stream_queue(struct gcm_context *c, struct work *work)
{
    enum gpuaes_status status = GPUAES_BAD_RANGE;
    if (c->stream.binding == NULL)
        return -1;
    work->binding = c->stream.binding;
    work->gcm_key = gcm_schedule(c);
    work->gcm_state = &c->ours.state;
    if (can_be_queued(c, work))
        status = offload(work, OFFLOAD_QUEUE_GCM);
    if (status == GPUAES_OK) {
        gcm_cpu_advance(c->ours.state.counter, work->len / GPUAES_BLOCK);
        c->ours.text_bytes += work->len;
        return 1;
    }
    if (status == GPUAES_BUSY) {
        raise_captured(c);
        return 0;
    }
    if (status == GPUAES_FAULT) {
        c->ours.lost = 1;
        error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "cuda-stream: %s %s",
                    gpuaes_status_text(status), gpuaes_reason());
        return 0;
    }
    return gcm_stream_sync(c) ? -1 : 0;
}
