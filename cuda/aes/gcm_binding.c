/*
 * GCM on a stream of the application. The hash of what is queued stays in device memory of the
 * binding, where each launch adds its own, until the message asks for it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/minmax.h"
#include "cuda/aes/aes.h"
#include "cuda/aes/gcm_binding.h"
#include "cuda/aes/gcm_check.h"
#include "cuda/aes/stream_binding.h"
#include "cuda/launch/ghash.h"
#include "cuda/process/statistics.h"

enum { SCRATCH_AT = 64 };

/* Blocks until the counter is 0 again: no launch may pass that. */
static uint64_t blocks_to_wrap(const unsigned char counter[GPUAES_BLOCK])
{
    uint32_t low;
    memcpy(&low, counter + 12, sizeof low);
    return ((uint64_t)1 << 32) - __builtin_bswap32(low);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static size_t memory_bytes(void)
{
    return SCRATCH_AT + kernels_gcm_scratch_bytes((uint64_t)1 << 32);
}

static struct kernels_scratch scratch_of(const struct gpuaes_stream_binding *binding)
{
    return (struct kernels_scratch){binding->gcm_memory.address + SCRATCH_AT,
                                    memory_bytes() - SCRATCH_AT};
}

static drv_result take_memory(struct gpuaes_stream_binding *binding)
{
    struct block memory;
    drv_result r = DRV_SUCCESS;
    if (binding->gcm_memory.bytes == 0) {
        r = memory_pool_take(binding->device, BLOCK_DEVICE, memory_bytes(), memory_bytes(),
                             &memory);
        if (r == DRV_SUCCESS)
            binding->gcm_memory = memory;
    }
    return r == DRV_SUCCESS ? gcm_check(binding->device, NULL) : r;
}

/* ---- Work ---------------------------------------------------------------------------------- */

/* Between the events that tell the binding's work from the application's. */
static drv_result put(struct gpuaes_stream_binding *binding, enum gpuaes_op op,
                      const struct gpuaes_gcm_key *key, const struct aes_arguments *all)
{
    const struct device *device = binding->device;
    const struct kernels_scratch scratch = scratch_of(binding);
    struct aes_arguments part = *all;
    drv_ptr hash = binding->gcm_memory.address;
    drv_result r = stream_events_begin(&binding->events, device->driver, binding->stream);
    if (r != DRV_SUCCESS)
        return r;
    if (binding->hashed == 0)
        r = device->driver->memset_d8_async(hash, 0, GPUAES_BLOCK, binding->stream);
    for (uint64_t left = all->blocks; r == DRV_SUCCESS && left != 0; left -= part.blocks) {
        part.blocks = min_u64(left, blocks_to_wrap((unsigned char *)part.iv));
        r = kernels_launch_gcm(device->driver, &device->kernels, op, key, &part, hash, &scratch,
                               binding->stream);
        part.in += part.blocks * GPUAES_BLOCK;
        part.out += part.blocks * GPUAES_BLOCK;
        gpuaes_modes[op]->advance((unsigned char *)part.iv, part.blocks, NULL);
    }
    gpuaes_cleanse(&part, sizeof part);
    /* Also where something has failed: the rest is on the stream. */
    drv_result ended = stream_events_end(&binding->events, device->driver, binding->stream);
    return r == DRV_SUCCESS ? ended : r;
}

static enum gpuaes_status run(struct gpuaes_stream_binding *binding, enum gpuaes_op op,
                              const struct gpuaes_gcm_key *key, const unsigned char *counter,
                              const void *in, const void *out, size_t len)
{
    struct memory in_memory, out_memory;
    enum gpuaes_status status = stream_binding_look(binding, in, len, &in_memory);
    if (status == GPUAES_OK)
        status = stream_binding_look(binding, out, len, &out_memory);
    if (status != GPUAES_OK)
        return status;
    struct aes_arguments arguments;
    drv_result r = device_may_use(binding->device, binding->stream);
    if (r == DRV_SUCCESS)
        r = take_memory(binding);
    if (r != DRV_SUCCESS) /* nothing is queued yet */
        return device_fault(binding->device, "memory for GCM on a stream", r);
    aes_fill_arguments(&arguments, op, &key->schedule, counter);
    arguments.in = in_memory.address;
    arguments.out = out_memory.address;
    arguments.blocks = len / GPUAES_BLOCK;
    r = put(binding, op, key, &arguments);
    gpuaes_cleanse(&arguments, sizeof arguments);
    if (r != DRV_SUCCESS)
        return stream_binding_failure(binding, "queueing work", r);
    binding->hashed += len / GPUAES_BLOCK;
    statistics_add_bytes(len);
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_stream_binding_gcm(struct gpuaes_stream_binding *binding,
                                             enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                                             const unsigned char counter[GPUAES_BLOCK], int begins,
                                             const void *in, void *out, size_t len)
{
    struct runtime_guard guard;
    if ((op != GPUAES_GCM_ENCRYPT && op != GPUAES_GCM_DECRYPT) || key == NULL || counter == NULL ||
        aes_bad_arguments(&key->schedule, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    enum gpuaes_status status = stream_binding_enter(binding, &guard);
    if (status != GPUAES_OK)
        return status;
    if (begins)
        binding->hashed = 0;
    status = run(binding, op, key, counter, in, out, len);
    runtime_leave_device(&guard, binding->device);
    return status;
}

/* ---- The hash ------------------------------------------------------------------------------ */

/* Reads it, and overwrites it and the powers of H. */
static drv_result take_hash(struct gpuaes_stream_binding *binding, unsigned char own[GPUAES_BLOCK])
{
    const struct device *device = binding->device;
    const struct driver *d = device->driver;
    drv_result r = device_may_use(device, binding->stream);
    if (r == DRV_SUCCESS)
        r = stream_events_begin(&binding->events, d, binding->stream);
    if (r == DRV_SUCCESS && binding->hashed != 0)
        r = d->memcpy_dtoh_async(binding->read_back.host, binding->gcm_memory.address, GPUAES_BLOCK,
                                 binding->stream);
    if (r == DRV_SUCCESS && binding->hashed != 0)
        r = d->memset_d8_async(binding->gcm_memory.address, 0, memory_bytes(), binding->stream);
    if (r == DRV_SUCCESS)
        r = stream_events_end(&binding->events, d, binding->stream);
    if (r == DRV_SUCCESS)
        r = stream_events_wait(&binding->events, device);
    if (r == DRV_SUCCESS)
        memcpy(own, binding->read_back.host, GPUAES_BLOCK);
    gpuaes_cleanse(binding->read_back.host, GPUAES_BLOCK);
    return r;
}

drv_result gcm_binding_wipe(struct gpuaes_stream_binding *binding)
{
    const struct driver *d = binding->device->driver;
    drv_stream own;
    if (binding->hashed == 0)
        return DRV_SUCCESS;
    drv_result r = d->stream_create(&own, DRV_STREAM_NON_BLOCKING);
    if (r != DRV_SUCCESS)
        return r;
    r = d->memset_d8_async(binding->gcm_memory.address, 0, memory_bytes(), own);
    if (r == DRV_SUCCESS)
        r = device_wait(binding->device, own, NULL);
    (void)d->stream_destroy(own);
    return r;
}

enum gpuaes_status gpuaes_stream_binding_hash(struct gpuaes_stream_binding *binding,
                                              const struct gpuaes_gcm_key *key,
                                              unsigned char hash[GPUAES_BLOCK])
{
    struct runtime_guard guard;
    unsigned char own[GPUAES_BLOCK];
    if (key == NULL || hash == NULL)
        return GPUAES_BAD_ARGUMENT;
    if (stream_binding_enter(binding, &guard) != GPUAES_OK)
        return GPUAES_FAULT;
    drv_result r = take_hash(binding, own);
    enum gpuaes_status status =
        r == DRV_SUCCESS ? GPUAES_OK : stream_binding_failure(binding, "work on a stream", r);
    if (status == GPUAES_OK && binding->hashed != 0)
        gpuaes_gcm_join(key, hash, own, binding->hashed);
    if (status != GPUAES_BUSY)
        binding->hashed = 0;
    runtime_leave_device(&guard, binding->device);
    gpuaes_cleanse(own, sizeof own);
    return status;
}
