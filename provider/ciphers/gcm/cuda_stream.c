/*
 * Text on a stream. The counter follows from the length, so the next update can be queued at once;
 * the hash stays on the device until the CPU needs it: for part of a block, or for the tag.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/cuda_stream.h"

#include "provider/ciphers/gcm/cpu.h"
#include "provider/ciphers/gcm/ours.h"
#include "provider/common/device_params.h"
#include "provider/common/errors.h"

/* The legacy stream is that of the first device in use. */
int gcm_stream_open(struct gcm_context *c, uint64_t handle)
{
    struct work work = {.stream = device_params_stream(handle), .flags = GPUAES_WAIT};
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

/* BUSY, and NO_MEMORY, which waits for nothing, leave all as it was. */
static enum gpuaes_status sync(struct gcm_context *c)
{
    struct work work = {.binding = c->stream.binding, .gcm_state = &c->ours.state};
    int is_queued = c->side == GCM_OURS && c->ours.is_queued;
    if (is_queued)
        work.gcm_key = gcm_schedule(c);
    enum gpuaes_status status = offload(&work, is_queued ? OFFLOAD_HASH : OFFLOAD_WAIT);
    if (status == GPUAES_OK && is_queued)
        c->ours.is_queued = 0;
    if (status == GPUAES_BUSY)
        raise_captured(c);
    else if (status == GPUAES_NO_MEMORY)
        error_raise(c->provider, ERROR_OUT_OF_MEMORY,
                    "no thread could be made to wait for cuda-stream; the call can be repeated");
    else if (status != GPUAES_OK) {
        error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "work queued on cuda-stream: %s",
                    gpuaes_status_text(status));
        if (is_queued) /* its hash is lost */
            gcm_end_ours(c);
    }
    return status;
}

int gcm_stream_sync(struct gcm_context *c)
{
    return c->stream.binding == NULL || sync(c) == GPUAES_OK;
}

void gcm_stream_drop(struct gcm_context *c)
{
    struct work work = {.kind = WORK_GCM_ENCRYPT,
                        .binding = c->stream.binding,
                        .gcm_state = &c->ours.state,
                        .begins = 1};
    if (c->stream.binding == NULL || !c->ours.is_queued)
        return;
    work.gcm_key = gcm_schedule(c);
    (void)offload(&work, OFFLOAD_QUEUE_GCM);
    c->ours.is_queued = 0;
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
    enum gpuaes_status status = c->stream.binding == NULL ? GPUAES_OK : sync(c);
    if (status == GPUAES_BUSY || status == GPUAES_NO_MEMORY)
        return 0;
    gcm_stream_unbind(c);
    return status == GPUAES_OK;
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
    work->begins = !c->ours.is_queued;
    if (can_be_queued(c, work))
        status = offload(work, OFFLOAD_QUEUE_GCM);
    if (status == GPUAES_OK) {
        gcm_cpu_advance(c->ours.state.counter, work->len / GPUAES_BLOCK);
        c->ours.text_bytes += work->len;
        c->ours.is_queued = 1;
        return 1;
    }
    if (status == GPUAES_BUSY) {
        raise_captured(c);
        return 0;
    }
    if (status == GPUAES_FAULT) {
        error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "cuda-stream: %s %s",
                    gpuaes_status_text(status), gpuaes_reason());
        gcm_end_ours(c);
        return 0;
    }
    return gcm_stream_sync(c) ? -1 : 0;
}
