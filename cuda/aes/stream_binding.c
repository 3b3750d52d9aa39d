/*
 * AES on a stream of the application.
 *
 * What a call needs beyond its arguments lies in device memory of the binding,
 * and is used in the order of the stream: the scratch memory of the kernels,
 * and the block that a CBC stream continues with.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/aes/stream_binding.h"
#include "cuda/process/statistics.h"

/*
 * An application may have thousands of bindings, so each has little: chained CBC is cut into
 * launches of some 2 MiB there. Longer calls get what a launch may want at most (see
 * kernels.h), as long as few bindings have it.
 */
enum {
    SCRATCH_BYTES = 8 << 10,
    LARGE_BYTES = (4 << 20) + (64 << 10),
    LARGE_FROM = 2 << 20,  /* length of a call */
    LARGE_MOST = 64,       /* bindings */
    READ_BACK_BYTES = 4096 /* a page, which is what can be pinned */
};

static atomic_int large_scratches;

/* ---- Open and close ---------------------------------------------------------- */

static drv_result take_memory(struct gpuaes_stream_binding *binding)
{
    struct device *device = binding->device;
    struct block read_back, next;
    drv_result r =
        memory_pool_take(device, BLOCK_PINNED, READ_BACK_BYTES, READ_BACK_BYTES, &read_back);
    if (r != DRV_SUCCESS)
        return r;
    r = memory_pool_take(device, BLOCK_DEVICE, SCRATCH_BYTES, SCRATCH_BYTES, &next);
    if (r != DRV_SUCCESS) {
        memory_pool_give(device, &read_back);
        return r;
    }
    binding->read_back = read_back;
    binding->memory = next;
    binding->next = next.address;
    binding->scratch.address = binding->next + GPUAES_BLOCK;
    binding->scratch.bytes = SCRATCH_BYTES - GPUAES_BLOCK;
    return DRV_SUCCESS;
}

/* To others: freeing it would wait for more than our own work. */
static void give_memory(struct gpuaes_stream_binding *binding)
{
    struct device *device = binding->device;
    stream_events_free(&binding->events, device->driver);
    memory_pool_give(device, &binding->memory);
    if (binding->large.bytes != 0) {
        memory_pool_give(device, &binding->large_memory);
        atomic_fetch_sub(&large_scratches, 1);
    }
    if (binding->gcm_memory.bytes != 0)
        memory_pool_give(device, &binding->gcm_memory);
    if (binding->gcm_sums.bytes != 0)
        memory_pool_give(device, &binding->gcm_sums);
    memory_pool_give(device, &binding->read_back);
}

/* What a call of so much works with; want of memory only makes it slower. */
static const struct kernels_scratch *scratch_for(struct gpuaes_stream_binding *binding,
                                                 enum gpuaes_op op, size_t len)
{
    struct block *memory = &binding->large_memory;
    if (!gpuaes_modes[op]->chained || len <= LARGE_FROM)
        return &binding->scratch;
    if (binding->large.bytes == 0 && atomic_fetch_add(&large_scratches, 1) < LARGE_MOST &&
        memory_pool_take(binding->device, BLOCK_DEVICE, LARGE_BYTES, LARGE_BYTES, memory) ==
            DRV_SUCCESS)
        binding->large = (struct kernels_scratch){.address = memory->address, .bytes = LARGE_BYTES};
    if (binding->large.bytes != 0)
        return &binding->large;
    atomic_fetch_sub(&large_scratches, 1);
    return &binding->scratch;
}

static enum gpuaes_status open_entered(struct gpuaes_stream_binding **binding,
                                       struct device *device, drv_stream stream)
{
    struct gpuaes_stream_binding *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return GPUAES_NO_MEMORY;
    opened->device = device;
    opened->stream = stream;
    drv_result r = take_memory(opened);
    if (r != DRV_SUCCESS) {
        free(opened);
        return device_fault(device, "opening a binding", r);
    }
    runtime_ref(); /* until it is closed */
    *binding = opened;
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_stream_binding_open(struct gpuaes_stream_binding **binding, void *stream,
                                              int device)
{
    struct runtime_guard guard;
    struct device *its;
    if (binding == NULL)
        return GPUAES_BAD_ARGUMENT;
    *binding = NULL;
    if (stream == DRV_STREAM_PER_THREAD)
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = runtime_enter_stream(&guard, stream, device, &its);
    if (status != GPUAES_OK)
        return status;
    status = open_entered(binding, its, stream);
    runtime_leave_device(&guard, its);
    return status;
}

/* ---- Work ----------------------------------------------------------------------- */

enum gpuaes_status stream_binding_enter(struct gpuaes_stream_binding *binding,
                                        struct runtime_guard *guard)
{
    if (!runtime_enter(guard))
        return GPUAES_NOT_READY;
    if (atomic_load(&binding->device->use) != DEVICE_LOST && device_enter(binding->device))
        return GPUAES_OK;
    runtime_leave(guard);
    return GPUAES_FAULT;
}

enum gpuaes_status stream_binding_begin(struct gpuaes_stream_binding *binding)
{
    struct device *device = binding->device;
    drv_result r = device_may_use(device, binding->stream);
    if (r == DRV_SUCCESS)
        r = stream_events_begin(&binding->events, device->driver, binding->stream);
    return r == DRV_SUCCESS ? GPUAES_OK : device_fault(device, "beginning work on a stream", r);
}

drv_result stream_binding_end(struct gpuaes_stream_binding *binding, drv_result result)
{
    drv_result r = stream_events_end(&binding->events, binding->device->driver, binding->stream);
    return result == DRV_SUCCESS ? r : result;
}

/*
 * Where the input stays as it is, its last block is kept by a copy; else the
 * kernels keep it before they overwrite it.
 */
static drv_result chain(struct gpuaes_stream_binding *binding, struct aes_arguments *arguments,
                        const unsigned char *iv, const struct memory *memory)
{
    const struct driver *d = binding->device->driver;
    size_t len = arguments->blocks * GPUAES_BLOCK;
    if (iv == NULL || arguments->in == arguments->out) {
        arguments->iv_at = iv == NULL ? binding->next : 0;
        arguments->next = binding->next;
        return DRV_SUCCESS;
    }
    drv_ptr last = memory->address + len - GPUAES_BLOCK;
    if (memory->kind == GPUAES_DEVICE)
        return d->memcpy_dtod_async(binding->next, last, GPUAES_BLOCK, binding->stream);
    /* Pinned memory has one address for the CPU and the device. */
    return d->memcpy_htod_async(binding->next, (const void *)(uintptr_t)last, GPUAES_BLOCK,
                                binding->stream);
}

/* The work of a call that has begun. */
static drv_result put(struct gpuaes_stream_binding *binding, enum gpuaes_op op, unsigned rounds,
                      struct aes_arguments *arguments, const unsigned char *iv,
                      const struct memory *in_memory)
{
    const struct device *device = binding->device;
    drv_result r = DRV_SUCCESS;
    if (gpuaes_modes[op]->chained)
        r = chain(binding, arguments, iv, in_memory);
    if (r == DRV_SUCCESS)
        r = kernels_launch_aes(device->driver, &device->kernels, op, rounds, arguments,
                               scratch_for(binding, op, arguments->blocks * GPUAES_BLOCK),
                               binding->stream);
    return stream_binding_end(binding, r);
}

static enum gpuaes_status run(struct gpuaes_stream_binding *binding, enum gpuaes_op op,
                              const struct gpuaes_key *key, const unsigned char *iv, const void *in,
                              const void *out, size_t len)
{
    struct memory in_memory, out_memory;
    enum gpuaes_status status = memory_reach(binding->device, in, len, &in_memory);
    if (status == GPUAES_OK)
        status = memory_reach(binding->device, out, len, &out_memory);
    if (status == GPUAES_OK)
        status = stream_binding_begin(binding);
    if (status != GPUAES_OK)
        return status;
    struct aes_arguments arguments;
    aes_fill_arguments(&arguments, op, key, iv, in_memory.address, out_memory.address, len);
    drv_result r = put(binding, op, key->rounds, &arguments, iv, &in_memory);
    gpuaes_cleanse(&arguments, sizeof arguments);
    if (r != DRV_SUCCESS)
        return device_fault_midway(binding->device, "queueing work", r);
    binding->chained |= gpuaes_modes[op]->chained;
    statistics_count(STATISTIC_BYTES, len);
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_stream_binding_aes(struct gpuaes_stream_binding *binding,
                                             enum gpuaes_op op, const struct gpuaes_key *key,
                                             const unsigned char iv[GPUAES_BLOCK], const void *in,
                                             void *out, size_t len)
{
    struct runtime_guard guard;
    const struct gpuaes_mode *mode = mode_taken(op, TAKEN_BY_BINDING);
    if (mode == NULL || binding == NULL || aes_bad_arguments(key, in, out, len) ||
        (iv == NULL && mode->takes_iv && !(mode->chained && binding->chained)))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    enum gpuaes_status status = stream_binding_enter(binding, &guard);
    if (status != GPUAES_OK)
        return status;
    status = run(binding, op, key, iv, in, out, len);
    runtime_leave_device(&guard, binding->device);
    return status;
}

/* The application's work on the stream is before what is queued here, and so is not ours. */
static enum gpuaes_status wait_for(struct gpuaes_stream_binding *binding,
                                   unsigned char iv[GPUAES_BLOCK])
{
    struct device *device = binding->device;
    drv_result r = DRV_SUCCESS;
    enum gpuaes_status status = stream_binding_begin(binding);
    if (status != GPUAES_OK)
        return status;
    if (iv != NULL)
        r = device->driver->memcpy_dtoh_async(binding->read_back.host, binding->next, GPUAES_BLOCK,
                                              binding->stream);
    r = stream_binding_end(binding, r);
    if (r == DRV_SUCCESS)
        r = stream_events_wait(&binding->events, device);
    if (r != DRV_SUCCESS)
        return device_fault_midway(device, "work on a stream", r);
    if (iv != NULL)
        memcpy(iv, binding->read_back.host, GPUAES_BLOCK);
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_stream_binding_wait(struct gpuaes_stream_binding *binding,
                                              unsigned char iv[GPUAES_BLOCK])
{
    struct runtime_guard guard;
    if (binding == NULL || (iv != NULL && !binding->chained))
        return GPUAES_BAD_ARGUMENT;
    if (stream_binding_enter(binding, &guard) != GPUAES_OK)
        return GPUAES_FAULT;
    enum gpuaes_status status = wait_for(binding, iv);
    runtime_leave_device(&guard, binding->device);
    return status;
}

void gpuaes_stream_binding_close(struct gpuaes_stream_binding *binding)
{
    struct runtime_guard guard;
    if (binding == NULL)
        return;
    enum gpuaes_status status = stream_binding_enter(binding, &guard);
    if (status != GPUAES_OK) {
        gcm_binding_cleanse_refused(binding);
    } else {
        drv_result r = stream_events_wait(&binding->events, binding->device);
        if (r == DRV_SUCCESS)
            r = gcm_binding_wipe(binding);
        if (r == DRV_SUCCESS)
            give_memory(binding);
        else { /* its memory may be in use for ever */
            gcm_binding_cleanse(binding);
            (void)device_fault_midway(binding->device, "work on a stream", r);
        }
        runtime_leave_device(&guard, binding->device);
    }
    runtime_unref();
    free(binding);
}
