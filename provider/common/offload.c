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

static enum gpuaes_memory kind_of(const void *p, size_t bytes)
{
    return bytes == 0 ? GPUAES_PAGEABLE : gpuaes_memory_kind(p, bytes);
}

static enum gpuaes_status locate(struct offload *o)
{
    o->in_kind = kind_of(o->in, o->bytes);
    o->out_kind =
        o->in == o->out && o->bytes == o->out_bytes ? o->in_kind : kind_of(o->out, o->out_bytes);
    return GPUAES_OK;
}

static int find_ordinal(unsigned n)
{
    struct gpuaes_device_info info;
    return gpuaes_device(n, &info) ? info.ordinal : -1;
}

static enum gpuaes_status make(struct offload *o)
{
    switch (o->call) {
    case OFFLOAD_LOCATE:
        return locate(o);
    case OFFLOAD_COPY:
        return gpuaes_copy(o->out, o->in, o->bytes);
    case OFFLOAD_AES:
        return gpuaes_aes(o->op, o->key, o->iv, o->in, o->out, o->bytes, o->flags, o->report);
    case OFFLOAD_ENCODE:
        return gpuaes_base64_encode(o->in, o->bytes, o->out, o->line_length, o->flags);
    case OFFLOAD_DECODE:
        return gpuaes_base64_decode(o->in, o->bytes, o->out, o->flags, &o->offset);
    case OFFLOAD_BIND:
        return gpuaes_stream_binding_open(&o->binding, o->stream, o->device);
    case OFFLOAD_QUEUE:
        return gpuaes_stream_binding_aes(o->binding, o->op, o->key, o->iv, o->in, o->out, o->bytes);
    case OFFLOAD_WAIT:
        return gpuaes_stream_binding_wait(o->binding, o->iv);
    case OFFLOAD_CLOSE:
        gpuaes_stream_binding_close(o->binding);
        gpuaes_keystream_close(o->keystream);
        return GPUAES_OK;
    case OFFLOAD_DEVICE:
        o->device = find_ordinal((unsigned)o->device);
        return GPUAES_OK;
    }
    return GPUAES_BAD_ARGUMENT;
}

static void *make_or_restart(void *arg)
{
    struct offload *o = arg;
    o->status = make(o);
    if (o->status == GPUAES_NOT_READY && o->restarts && gpuaes_start(NULL, NULL, 1) == GPUAES_READY)
        o->status = make(o);
    return NULL;
}

enum gpuaes_status offload(struct offload *o)
{
    if (!offload_needs_thread())
        (void)make_or_restart(o);
    else if (!stack_call_elsewhere(make_or_restart, o))
        return GPUAES_NO_MEMORY;
    return o->status;
}

int offload_device(unsigned n)
{
    struct offload o = {.call = OFFLOAD_DEVICE, .device = (int)n};
    return offload(&o) == GPUAES_OK ? o.device : -1;
}
