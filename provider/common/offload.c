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

static void locate(struct offload *o)
{
    o->in_kind = kind_of(o->in, o->bytes);
    o->out_kind =
        o->in == o->out && o->bytes == o->out_bytes ? o->in_kind : kind_of(o->out, o->out_bytes);
}

static int find_ordinal(unsigned n)
{
    struct gpuaes_device_info info;
    return gpuaes_device(n, &info) ? info.ordinal : -1;
}

static void *make(void *arg)
{
    struct offload *o = arg;
    int again = o->restarts;
    do {
        o->status = GPUAES_OK;
        switch (o->call) {
        case OFFLOAD_LOCATE:
            locate(o);
            break;
        case OFFLOAD_COPY:
            o->status = gpuaes_copy(o->out, o->in, o->bytes);
            break;
        case OFFLOAD_AES:
            o->status =
                gpuaes_aes(o->op, o->key, o->iv, o->in, o->out, o->bytes, o->flags, o->report);
            break;
        case OFFLOAD_ENCODE:
            o->status = gpuaes_base64_encode(o->in, o->bytes, o->out, o->line_length, o->flags);
            break;
        case OFFLOAD_DECODE:
            o->status = gpuaes_base64_decode(o->in, o->bytes, o->out, o->flags, &o->offset);
            break;
        case OFFLOAD_BIND:
            o->status = gpuaes_stream_binding_open(&o->binding, o->stream, o->device);
            break;
        case OFFLOAD_QUEUE:
            o->status = gpuaes_stream_binding_aes(o->binding, o->op, o->key, o->iv, o->in, o->out,
                                                  o->bytes);
            break;
        case OFFLOAD_WAIT:
            o->status = gpuaes_stream_binding_wait(o->binding, o->iv);
            break;
        case OFFLOAD_CLOSE:
            gpuaes_stream_binding_close(o->binding);
            gpuaes_keystream_close(o->keystream);
            break;
        case OFFLOAD_DEVICE:
            o->device = find_ordinal((unsigned)o->device);
            break;
        }
    } while (o->status == GPUAES_NOT_READY && again-- > 0 &&
             gpuaes_start(NULL, NULL, 1) == GPUAES_READY);
    return NULL;
}

enum gpuaes_status offload(struct offload *o)
{
    if (!offload_needs_thread())
        (void)make(o);
    else if (!stack_call_elsewhere(make, o))
        return GPUAES_NO_MEMORY;
    return o->status;
}

int offload_device(unsigned n)
{
    struct offload o = {.call = OFFLOAD_DEVICE, .device = (int)n};
    return offload(&o) == GPUAES_OK ? o.device : -1;
}
