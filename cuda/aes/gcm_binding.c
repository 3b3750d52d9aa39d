/*
 * GCM on a stream of the application. Each launch adds its own hash to that of the one before,
 * until the message asks for it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"
#include "cuda/aes/gcm_check.h"
#include "cuda/aes/stream_binding.h"
#include "cuda/process/cleanse.h"
#include "cuda/process/fork.h"
#include "cuda/process/statistics.h"

/* ---- Memory -------------------------------------------------------------------------------- */

enum { PAGE = 4096 }; /* what can be pinned */

static drv_result take(struct device *device, enum block_kind kind, size_t bytes,
                       struct block *block)
{
    struct block taken;
    if (block->bytes >= bytes)
        return DRV_SUCCESS;
    drv_result r = memory_pool_take(device, kind, bytes, bytes, &taken);
    if (r == DRV_SUCCESS)
        *block = taken;
    return r;
}

static size_t sums_bytes(const struct gpuaes_stream_binding *binding)
{
    return kernels_gcm_sums_bytes(&binding->device->kernels);
}

static drv_result take_memory(struct gpuaes_stream_binding *binding)
{
    drv_result r =
        take(binding->device, BLOCK_DEVICE, KERNELS_GCM_SCRATCH_MOST, &binding->gcm_memory);
    if (r == DRV_SUCCESS)
        r = take(binding->device, BLOCK_PINNED, round_up(sums_bytes(binding), PAGE),
                 &binding->gcm_sums);
    return r == DRV_SUCCESS ? gcm_check(binding->device, NULL) : r;
}

/* There is no hash yet, or none any more. */
static void begin(struct gpuaes_stream_binding *binding)
{
    binding->hashed = 0;
    binding->sums = (struct kernels_sums){.memory = binding->gcm_sums.address};
}

/* Queues that the powers of H are overwritten. */
static drv_result wipe_powers(const struct gpuaes_stream_binding *binding, drv_stream stream)
{
    return binding->device->driver->memset_d8_async(binding->gcm_memory.address, 0,
                                                    KERNELS_GCM_SCRATCH_MOST, stream);
}

/*
 * Drops the hash of what was queued, and queues that it and the powers of H are overwritten. Does
 * nothing where there is none.
 */
static enum gpuaes_status drop_hash(struct gpuaes_stream_binding *binding)
{
    const struct driver *d = binding->device->driver;
    if (binding->hashed == 0)
        return GPUAES_OK;
    enum gpuaes_status status = stream_binding_begin(binding);
    if (status != GPUAES_OK)
        return status;
    drv_result r = wipe_powers(binding, binding->stream);
    if (r == DRV_SUCCESS)
        r = d->memset_d8_async(binding->gcm_sums.address, 0, sums_bytes(binding), binding->stream);
    r = stream_binding_end(binding, r);
    if (r != DRV_SUCCESS)
        return device_fault_midway(binding->device, "dropping the hash of a message", r);
    begin(binding);
    return GPUAES_OK;
}

/* ---- Work ---------------------------------------------------------------------------------- */

static enum gpuaes_status run(struct gpuaes_stream_binding *binding, enum gpuaes_op op,
                              const struct gpuaes_gcm_key *key, const unsigned char *counter,
                              const void *in, const void *out, size_t len)
{
    struct memory in_memory, out_memory;
    enum gpuaes_status status = memory_reach(binding->device, in, len, &in_memory);
    if (status == GPUAES_OK)
        status = memory_reach(binding->device, out, len, &out_memory);
    if (status == GPUAES_OK)
        status = stream_binding_begin(binding);
    if (status != GPUAES_OK)
        return status;
    const struct device *device = binding->device;
    struct aes_arguments arguments;
    drv_result r = take_memory(binding);
    if (r != DRV_SUCCESS) /* nothing is queued yet */
        return device_fault(binding->device, "memory for GCM on a stream", r);
    aes_fill_arguments(&arguments, op, &key->schedule, counter, in_memory.address,
                       out_memory.address, len);
    const struct kernels_scratch scratch = {binding->gcm_memory.address, binding->gcm_memory.bytes};
    binding->sums.memory = binding->gcm_sums.address;
    r = kernels_launch_gcm(device->driver, &device->kernels, op, key, &arguments, &binding->sums,
                           &scratch, binding->stream);
    r = stream_binding_end(binding, r);
    gpuaes_cleanse(&arguments, sizeof arguments);
    if (r != DRV_SUCCESS)
        return device_fault_midway(binding->device, "queueing work", r);
    binding->hashed += len / GPUAES_BLOCK;
    statistics_count(STATISTIC_BYTES, len);
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_stream_binding_gcm(struct gpuaes_stream_binding *binding,
                                             enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                                             const unsigned char counter[GPUAES_BLOCK], int begins,
                                             const void *in, void *out, size_t len)
{
    struct runtime_guard guard;
    if (mode_taken(op, TAKEN_BY_GCM) == NULL || binding == NULL || key == NULL || counter == NULL ||
        aes_bad_arguments(&key->schedule, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0 && !begins)
        return GPUAES_OK;
    enum gpuaes_status status = stream_binding_enter(binding, &guard);
    if (status != GPUAES_OK) {
        gcm_binding_cleanse_refused(binding);
        return status;
    }
    if (begins)
        status = drop_hash(binding);
    if (status == GPUAES_OK && len != 0)
        status = run(binding, op, key, counter, in, out, len);
    if (status == GPUAES_FAULT) /* nobody can get the hash any more */
        gcm_binding_cleanse(binding);
    runtime_leave_device(&guard, binding->device);
    return status;
}

/* ---- The hash ------------------------------------------------------------------------------ */

void gcm_binding_cleanse(struct gpuaes_stream_binding *binding)
{
    if (binding->gcm_sums.host != NULL &&
        device_has_pinned(binding->device->driver, binding->gcm_sums.host))
        gpuaes_cleanse(binding->gcm_sums.host, sums_bytes(binding));
}

/* With the only device the state READY goes, too. A forked child has its parent's pinned memory. */
void gcm_binding_cleanse_refused(struct gpuaes_stream_binding *binding)
{
    struct runtime_guard guard;
    if (fork_is_child() || !runtime_reenter(&guard))
        return;
    gcm_binding_cleanse(binding);
    runtime_leave(&guard);
}

/* Reads it, and overwrites it and the powers of H. */
SECRET_FRAME static enum gpuaes_status take_hash(struct gpuaes_stream_binding *binding,
                                                 unsigned char own[GPUAES_BLOCK])
{
    drv_result r = DRV_SUCCESS;
    enum gpuaes_status status = stream_binding_begin(binding);
    if (status == GPUAES_OK) {
        if (binding->hashed != 0)
            r = wipe_powers(binding, binding->stream);
        r = stream_binding_end(binding, r);
        if (r == DRV_SUCCESS)
            r = stream_events_wait(&binding->events, binding->device);
        if (r != DRV_SUCCESS)
            status = device_fault_midway(binding->device, "work on a stream", r);
    }
    if (status == GPUAES_FAULT)
        gcm_binding_cleanse(binding);
    if (status == GPUAES_OK && binding->hashed != 0)
        ghash_store(own, kernels_take_sums(&binding->device->kernels, &binding->sums,
                                           binding->gcm_sums.host));
    return status;
}

/* On a stream of its own, as the application's may be captured, or go on with other work. */
static drv_result wipe_now(const struct gpuaes_stream_binding *binding)
{
    const struct driver *d = binding->device->driver;
    drv_stream own;
    drv_result r = d->stream_create(&own, DRV_STREAM_NON_BLOCKING);
    if (r != DRV_SUCCESS)
        return r;
    r = wipe_powers(binding, own);
    drv_result waited = device_wait(binding->device, own, NULL);
    (void)d->stream_destroy(own);
    if (waited == DRV_SUCCESS)
        return r;
    return waited == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : waited;
}

drv_result gcm_binding_wipe(struct gpuaes_stream_binding *binding)
{
    if (binding->gcm_memory.bytes == 0)
        return DRV_SUCCESS;
    /* Also where it has no hash: that of a message that was given up may be there. */
    drv_result r = wipe_now(binding);
    gcm_binding_cleanse(binding);
    if (r != DRV_OUT_OF_MEMORY)
        return r;
    (void)device_fault(binding->device, "overwriting powers", r);
    binding->gcm_memory.bytes = 0;
    return DRV_SUCCESS;
}

enum gpuaes_status gpuaes_stream_binding_hash(struct gpuaes_stream_binding *binding,
                                              const struct gpuaes_gcm_key *key,
                                              unsigned char hash[GPUAES_BLOCK])
{
    struct runtime_guard guard;
    unsigned char own[GPUAES_BLOCK];
    if (binding == NULL || key == NULL || hash == NULL)
        return GPUAES_BAD_ARGUMENT;
    if (stream_binding_enter(binding, &guard) != GPUAES_OK) {
        gcm_binding_cleanse_refused(binding);
        begin(binding);
        return GPUAES_FAULT;
    }
    enum gpuaes_status status = take_hash(binding, own);
    if (status == GPUAES_OK && binding->hashed != 0)
        gpuaes_gcm_join(key, hash, own, binding->hashed);
    if (status != GPUAES_BUSY && status != GPUAES_NO_MEMORY)
        begin(binding);
    runtime_leave_device(&guard, binding->device);
    gpuaes_cleanse(own, sizeof own);
    return status;
}
