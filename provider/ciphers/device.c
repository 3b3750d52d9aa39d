/*
 * CUDA streams of the application that contexts queue work on.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/device.h"

#include "provider/common/big_stack.h"
#include "provider/common/errors.h"

enum { STREAM_LEGACY = 1 }; /* CU_STREAM_LEGACY, CUDA's handle, which is no pointer */

int stream_is_legacy(const struct stream *s)
{
    return s->handle == 0 || s->handle == STREAM_LEGACY;
}

struct binding_call {
    struct gpuaes_stream_binding *binding;
    void *stream;
    int device;
    unsigned char *iv, *hash;
    const struct gpuaes_gcm_key *gcm_key;
};

static enum gpuaes_status call_open(void *arg)
{
    struct binding_call *call = arg;
    return gpuaes_stream_binding_open(&call->binding, call->stream, call->device);
}

static enum gpuaes_status bind(struct gpuaes_stream_binding **binding, void *stream, int device)
{
    struct binding_call call = {.stream = stream, .device = device};
    enum gpuaes_status status = run_on_big_stack(call_open, &call, GPUAES_WAIT);
    *binding = status == GPUAES_OK ? call.binding : NULL;
    return status;
}

enum gpuaes_status stream_bind_legacy(struct gpuaes_stream_binding **binding, int device)
{
    return bind(binding, NULL, device);
}

int stream_bind(const struct provider *provider, struct stream *s)
{
    void *stream = stream_is_legacy(s) ? NULL : (void *)(uintptr_t)s->handle;
    enum gpuaes_status status = bind(&s->binding, stream, device_ordinal(0));
    if (status != GPUAES_OK)
        error_raise(provider, status == GPUAES_BAD_ARGUMENT ? ERROR_BAD_PARAMETER : ERROR_NO_DEVICE,
                    "cuda-stream cannot be used: %s", gpuaes_status_text(status));
    return status == GPUAES_OK;
}

static enum gpuaes_status call_close(void *arg)
{
    gpuaes_stream_binding_close(arg);
    return GPUAES_OK;
}

void stream_unbind(struct gpuaes_stream_binding **binding)
{
    if (*binding != NULL)
        (void)run_on_big_stack(call_close, *binding, 0);
    *binding = NULL;
}

static enum gpuaes_status call_queue(void *arg)
{
    const struct stream_work *w = arg;
    if (w->gcm_key != NULL)
        return gpuaes_stream_binding_gcm(w->binding, w->op, w->gcm_key, w->counter, w->begins,
                                         w->in, w->out, w->len);
    return gpuaes_stream_binding_aes(w->binding, w->op, w->key, w->iv, w->in, w->out, w->len);
}

enum gpuaes_status stream_queue(struct stream_work *work)
{
    return run_on_big_stack(call_queue, work, 0);
}

static enum gpuaes_status call_wait(void *arg)
{
    const struct binding_call *call = arg;
    if (call->gcm_key != NULL)
        return gpuaes_stream_binding_hash(call->binding, call->gcm_key, call->hash);
    return gpuaes_stream_binding_wait(call->binding, call->iv);
}

enum gpuaes_status stream_wait(const struct provider *provider,
                               struct gpuaes_stream_binding *binding, unsigned char *iv,
                               const struct gpuaes_gcm_key *gcm_key, unsigned char *hash)
{
    struct binding_call call = {.binding = binding, .iv = iv, .gcm_key = gcm_key, .hash = hash};
    enum gpuaes_status status = run_on_big_stack(call_wait, &call, 0);
    if (status == GPUAES_BUSY)
        stream_raise(provider, status);
    else if (status == GPUAES_NO_MEMORY)
        error_raise(provider, ERROR_OUT_OF_MEMORY,
                    "no thread could be made to wait for cuda-stream; the call can be repeated");
    else if (status != GPUAES_OK)
        error_raise(provider, ERROR_OUTPUT_UNDEFINED, "work queued on cuda-stream: %s",
                    gpuaes_status_text(status));
    return status;
}

int stream_can_repeat(enum gpuaes_status status)
{
    return status == GPUAES_BUSY || status == GPUAES_NO_MEMORY;
}

void stream_raise(const struct provider *provider, enum gpuaes_status status)
{
    if (status == GPUAES_BUSY)
        error_raise(provider, ERROR_CAPTURED,
                    "cuda-stream takes no update and cannot be waited for until that ends; nothing "
                    "was done, and the call can be repeated then");
    else
        error_raise(provider, ERROR_OUTPUT_UNDEFINED, "cuda-stream: %s %s",
                    gpuaes_status_text(status), gpuaes_reason());
}
