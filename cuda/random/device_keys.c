/*
 * Keys in device memory: expanded there, and cleansed there.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/random/device_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "cuda/memory/memory_kind.h"
#include "cuda/process/fork.h"

enum { RAW_BYTES = sizeof(struct aes_batch_key), PIECE = 64 << 10, PIECE_KEYS = PIECE / RAW_BYTES };

/* What keys are made of. */
struct source {
    const unsigned char *key; /* as the CPU or the device sees it */
    size_t key_bytes;
    int on_device;
    drv_stream stream; /* of the application */
};

static drv_ptr raw_keys(const struct gpuaes_device_keys *keys)
{
    return device_keys_schedules(keys) +
           (drv_ptr)device_keys_single(keys) * AES_BATCH_KEY_WORDS * 4;
}

static size_t all_bytes(const struct gpuaes_device_keys *keys)
{
    return raw_keys(keys) + (size_t)device_keys_single(keys) * RAW_BYTES - keys->memory.address;
}

/* Short memory in mid-work is a fault like any other: what is queued uses ours. */
static drv_result in_mid_work(drv_result r)
{
    return r == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : r;
}

/* ---- Expansion ------------------------------------------------------------------------- */

/* Queues what makes the schedules of raw keys, which are wiped behind it. */
static drv_result expand(const struct gpuaes_device_keys *keys, drv_stream stream)
{
    struct device *device = keys->device;
    struct aes_batch_expand_arguments a = {.keys = raw_keys(keys),
                                           .schedules = device_keys_schedules(keys),
                                           .count = device_keys_single(keys)};
    drv_result r = kernels_launch_batch_expand(device->driver, &device->kernels, &a, stream);
    drv_result wiped =
        device->driver->memset_d8_async(a.keys, 0, (size_t)a.count * RAW_BYTES, stream);
    return r == DRV_SUCCESS ? wiped : r;
}

/* Keys that the device has: in the order of the application's stream, without a wait. */
static drv_result make_of_device(const struct gpuaes_device_keys *keys, const struct source *source)
{
    struct device *device = keys->device;
    struct device_keys_arguments a = {.from = (drv_ptr)(uintptr_t)source->key,
                                      .keys = raw_keys(keys),
                                      .count = keys->count,
                                      .words = (uint32_t)key_size_of(keys->rounds) / 4,
                                      .decrypts = (uint32_t)keys->decrypts,
                                      .pairs = (uint32_t)keys->pairs};
    drv_result r =
        kernels_launch_device_keys_gather(device->driver, &device->kernels, &a, source->stream);
    return in_mid_work(r == DRV_SUCCESS ? expand(keys, source->stream) : r);
}

/* From number `at` on: of pairs, the second keys come after all first ones. */
static void gather(const struct gpuaes_device_keys *keys, const struct source *source, size_t at,
                   size_t count, struct aes_batch_key *raw)
{
    const size_t bytes = key_size_of(keys->rounds);
    memset(raw, 0, count * sizeof *raw);
    for (size_t i = 0; i < count; i++) {
        int is_second = at + i >= keys->count;
        size_t number = is_second ? at + i - keys->count : at + i;
        memcpy(raw[i].words, source->key + number * source->key_bytes + (is_second ? bytes : 0),
               bytes);
        raw[i].rounds = keys->rounds;
        raw[i].decrypts = (uint32_t)(keys->decrypts && !is_second);
    }
}

/* Through pinned memory, a piece after the other, each of which is waited for. */
static drv_result upload(const struct gpuaes_device_keys *keys, const struct source *source,
                         const struct block *pinned, drv_stream stream)
{
    struct device *device = keys->device;
    const size_t all = device_keys_single(keys);
    drv_result r = DRV_SUCCESS;
    for (size_t at = 0; at < all && r == DRV_SUCCESS; at += PIECE_KEYS) {
        size_t count = min_u64(PIECE_KEYS, all - at);
        gather(keys, source, at, count, (struct aes_batch_key *)pinned->host);
        r = device->driver->memcpy_htod_async(raw_keys(keys) + at * RAW_BYTES, pinned->host,
                                              count * RAW_BYTES, stream);
        if (r == DRV_SUCCESS)
            r = device_wait(device, stream, NULL);
    }
    gpuaes_cleanse(pinned->host, PIECE);
    if (r == DRV_SUCCESS)
        r = expand(keys, stream);
    return r == DRV_SUCCESS ? device_wait(device, stream, NULL) : r;
}

/* Keys that the CPU has: on a stream of ours, so that nothing of the application's is waited for.
 */
static drv_result make_of_host(const struct gpuaes_device_keys *keys, const struct source *source)
{
    struct device *device = keys->device;
    struct block pinned;
    drv_stream stream;
    drv_result r = memory_pool_take(device, BLOCK_PINNED, PIECE, PIECE, &pinned);
    if (r != DRV_SUCCESS)
        return r;
    r = device->driver->stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    if (r == DRV_SUCCESS) {
        r = in_mid_work(upload(keys, source, &pinned, stream));
        (void)device->driver->stream_destroy(stream);
    }
    if (r == DRV_SUCCESS || r == DRV_OUT_OF_MEMORY) /* else it may be in use for ever */
        memory_pool_give(device, &pinned);
    return r;
}

/* ---- Open and close ------------------------------------------------------------------------ */

static enum gpuaes_status make(struct gpuaes_device_keys *keys, const struct source *source)
{
    struct device *device = keys->device;
    drv_result r = device_may_use(device, source->stream);
    if (r == DRV_SUCCESS)
        r = memory_pool_take(device, BLOCK_DEVICE, all_bytes(keys), all_bytes(keys), &keys->memory);
    if (r != DRV_SUCCESS)
        return device_fault(device, "memory for keys", r);
    r = source->on_device ? make_of_device(keys, source) : make_of_host(keys, source);
    if (r == DRV_OUT_OF_MEMORY) /* nothing was queued */
        memory_pool_give(device, &keys->memory);
    return r == DRV_SUCCESS ? GPUAES_OK : device_fault(device, "expanding keys", r);
}

/* Looks where the keys are. */
static enum gpuaes_status look(const struct gpuaes_device_keys *keys, struct source *source)
{
    struct memory memory;
    enum gpuaes_status status =
        memory_look(keys->device, source->key, source->key_bytes * keys->count, &memory);
    source->on_device = memory.kind == GPUAES_DEVICE;
    if (status != GPUAES_OK || !source->on_device)
        return status == GPUAES_OK && memory.kind == GPUAES_FOREIGN ? GPUAES_BAD_RANGE : status;
    source->key = (const unsigned char *)(uintptr_t)memory.address;
    return memory.managed || memory.owner == keys->device ? GPUAES_OK : GPUAES_BAD_RANGE;
}

static enum gpuaes_status open_on(struct device *device, const struct gpuaes_device_keys *as,
                                  struct source *source, struct gpuaes_device_keys **keys)
{
    if (!device_enter(device))
        return GPUAES_FAULT;
    struct gpuaes_device_keys *opened = malloc(sizeof *opened);
    enum gpuaes_status status = GPUAES_NO_MEMORY;
    if (opened != NULL) {
        *opened = *as; /* without a key of its own */
        opened->device = device;
        status = look(opened, source);
        if (status == GPUAES_OK)
            status = make(opened, source);
        /* Kernels that have round keys as parameters are faster than those that load them. */
        if (status == GPUAES_OK && opened->count == 1 && !source->on_device)
            (void)gpuaes_key_expand(&opened->only, source->key, key_size_of(opened->rounds));
    }
    device_leave(device);
    if (status != GPUAES_OK) {
        free(opened);
        return status;
    }
    runtime_ref(); /* until they are closed */
    *keys = opened;
    return status;
}

/* AES-192 has no XTS. */
static int is_bad_size(enum gpuaes_op op, size_t key_bytes)
{
    if (gpuaes_modes[op]->pairs)
        return key_bytes != 32 && key_bytes != 64;
    return !key_size_is_valid(key_bytes);
}

enum gpuaes_status gpuaes_device_keys_open(struct gpuaes_device_keys **keys, enum gpuaes_op op,
                                           const void *key, size_t key_bytes, size_t count,
                                           void *stream, int device)
{
    struct runtime_guard guard;
    struct source source = {.key = key, .key_bytes = key_bytes, .stream = stream};
    if (keys == NULL)
        return GPUAES_BAD_ARGUMENT;
    *keys = NULL;
    if ((unsigned)op >= GPUAES_ALL_OPS || key == NULL || is_bad_size(op, key_bytes) || count == 0 ||
        count > GPUAES_DEVICE_KEYS)
        return GPUAES_BAD_ARGUMENT;
    struct device *own = runtime_enter_device(&guard);
    if (own == NULL)
        return GPUAES_NOT_READY;
    const int pairs = gpuaes_modes[op]->pairs;
    const struct gpuaes_device_keys as = {.count = (uint32_t)count,
                                          .rounds =
                                              key_size_rounds(pairs ? key_bytes / 2 : key_bytes),
                                          .decrypts = gpuaes_modes[op]->decrypts,
                                          .pairs = pairs};
    struct device *its = runtime_device_of_stream(own, stream, device);
    enum gpuaes_status status =
        its == NULL ? GPUAES_BAD_ARGUMENT : open_on(its, &as, &source, keys);
    runtime_leave_device(&guard, own);
    return status;
}

/*
 * A stream of another context, or none at all, is the caller's mistake. With any other error the
 * context is broken: a kernel that uses a wrong address leaves it so.
 */
static enum gpuaes_status look_at_stream(const struct gpuaes_device_keys *keys, drv_stream stream)
{
    drv_context context = keys->device->context;
    drv_result r = DRV_SUCCESS;
    if (stream != NULL && stream != DRV_STREAM_LEGACY && stream != DRV_STREAM_PER_THREAD)
        r = keys->device->driver->stream_get_ctx(stream, &context);
    if (r != DRV_SUCCESS && r != DRV_INVALID_VALUE && r != DRV_INVALID_HANDLE &&
        r != DRV_INVALID_CONTEXT)
        return device_fault(keys->device, "cuStreamGetCtx",
                            r == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : r);
    return r == DRV_SUCCESS && context == keys->device->context ? GPUAES_OK : GPUAES_BAD_ARGUMENT;
}

enum gpuaes_status device_keys_enter(const struct gpuaes_device_keys *keys, drv_stream stream,
                                     struct runtime_guard *guard)
{
    enum gpuaes_status status = GPUAES_FAULT;
    if (fork_is_child() || !runtime_reenter(guard))
        return GPUAES_NOT_READY;
    if (atomic_load(&keys->device->use) != DEVICE_LOST && device_enter(keys->device)) {
        status = look_at_stream(keys, stream);
        if (status == GPUAES_OK)
            return GPUAES_OK;
        device_leave(keys->device);
    }
    runtime_leave(guard);
    return status;
}

/* Wipes in the order of the stream, and waits for that. */
static drv_result wipe(const struct gpuaes_device_keys *keys, drv_stream stream)
{
    const struct driver *d = keys->device->driver;
    drv_event event;
    drv_result r = d->event_create(&event, DRV_EVENT_DISABLE_TIMING);
    if (r != DRV_SUCCESS)
        return r;
    r = d->memset_d8_async(keys->memory.address, 0, all_bytes(keys), stream);
    if (r == DRV_SUCCESS)
        r = in_mid_work(d->event_record(event, stream));
    if (r == DRV_SUCCESS)
        r = in_mid_work(device_wait_for_application(keys->device, event));
    (void)d->event_destroy(event);
    return r;
}

enum gpuaes_status gpuaes_device_keys_close(struct gpuaes_device_keys *keys, void *stream)
{
    struct runtime_guard guard;
    if (keys == NULL)
        return GPUAES_OK;
    enum gpuaes_status status = device_keys_enter(keys, stream, &guard);
    if (status == GPUAES_OK) {
        drv_result r = device_may_use(keys->device, stream);
        if (r == DRV_SUCCESS)
            r = wipe(keys, stream);
        if (r == DRV_SUCCESS)
            memory_pool_give(keys->device, &keys->memory);
        else /* where it is a fault, the memory may be in use for ever */
            status = device_fault(keys->device, "cleansing keys", r);
        runtime_leave_device(&guard, keys->device);
    }
    if (status == GPUAES_BAD_ARGUMENT || status == GPUAES_BUSY || status == GPUAES_NO_MEMORY)
        return status;
    runtime_unref();
    gpuaes_cleanse(&keys->only, sizeof keys->only);
    free(keys);
    return status;
}
