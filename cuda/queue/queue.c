/*
 * gpuaes_queue(): messages that arrays in device memory describe, on a stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/aes/gcm_check.h"
#include "cuda/launch/kernels_message.h"
#include "cuda/memory/memory_kind.h"
#include "cuda/process/cleanse.h"
#include "cuda/process/struct_bytes.h"
#include "cuda/runtime/runtime.h"

enum { ALIGNMENT = 256 };

/* ---- What is wrong with arguments ------------------------------------------------------- */

static _Thread_local char error[128];

const char *gpuaes_queue_error(void)
{
    return error;
}

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
    return 0;
}

static int check_sizes(const struct gpuaes_messages *m)
{
    const struct gpuaes_mode *mode = mode_taken(m->op, TAKEN_BY_QUEUE);
    const size_t most = mode != NULL && mode->pairs ? GPUAES_QUEUE_UNIT_BYTES : GPUAES_QUEUE_BYTES;
    if (mode == NULL)
        return refuse("op is %u; expected an enum gpuaes_op", (unsigned)m->op);
    if (m->count > GPUAES_QUEUE_MESSAGES)
        return refuse("count is %zu; expected %d at most", m->count, GPUAES_QUEUE_MESSAGES);
    if (m->max_bytes > most)
        return refuse("max_bytes is %zu; expected %zu at most", m->max_bytes, most);
    return 1;
}

static int check_one_key(const struct gpuaes_messages *m)
{
    const int pairs = gpuaes_modes[m->op]->pairs;
    if (!key_size_is_valid(key_size_of(m->key->rounds)) || (pairs && m->key->rounds == 12))
        return refuse("key->rounds is %u; expected 10%s or 14", m->key->rounds,
                      pairs ? "" : ", 12");
    if (!pairs)
        return m->tweak_key == NULL || refuse("tweak_key is for XTS alone; expected NULL");
    if (m->tweak_key == NULL || m->tweak_key->rounds != m->key->rounds)
        return refuse("tweak_key has %u rounds; expected those of key, %u",
                      m->tweak_key == NULL ? 0 : m->tweak_key->rounds, m->key->rounds);
    /* Not in a time that depends on them: by all words. */
    uint32_t differ = 0;
    for (unsigned i = 0; i < m->key->rounds - 6; i++)
        differ |= m->key->encrypt[i] ^ m->tweak_key->encrypt[i];
    if (differ == 0 && !gpuaes_modes[m->op]->decrypts)
        return refuse("tweak_key is equal to key; expected two keys");
    return 1;
}

static int check_raw_keys(const struct gpuaes_messages *m)
{
    const int pairs = gpuaes_modes[m->op]->pairs;
    if (pairs ? m->key_bytes != 32 && m->key_bytes != 64 : !key_size_is_valid(m->key_bytes))
        return refuse("key_bytes is %zu; expected %s", m->key_bytes,
                      pairs ? "32 or 64" : "16, 24 or 32");
    if (m->key_table == NULL)
        return m->key_index == NULL || refuse("key_index needs key_table, which is NULL");
    if (m->key_count == 0 || m->key_count > UINT32_MAX)
        return refuse("key_count is %zu; expected 1 to %u", m->key_count, UINT32_MAX);
    return 1;
}

static int check_keys(const struct gpuaes_messages *m)
{
    const int kinds = (m->key != NULL) + (m->keys != NULL) + (m->key_table != NULL);
    if (kinds != 1)
        return refuse("%d of key, keys and key_table are given; expected 1", kinds);
    return m->key != NULL ? check_one_key(m) : check_raw_keys(m);
}

static int check_gcm(const struct gpuaes_messages *m)
{
    if (m->iv_bytes == 0 || m->iv_bytes > GPUAES_QUEUE_AAD_BYTES)
        return refuse("iv_bytes is %zu; expected 1 to %d", m->iv_bytes, GPUAES_QUEUE_AAD_BYTES);
    if (!gcm_tag_size_is_valid(m->tag_bytes))
        return refuse("tag_bytes is %zu; expected 12 to 16, 8 or 4", m->tag_bytes);
    if (m->tag == NULL)
        return refuse("tag is NULL; expected an array");
    if ((m->aad == NULL) != (m->aad_bytes == NULL))
        return refuse("%s is NULL; expected an array, as the other one is",
                      m->aad == NULL ? "aad" : "aad_bytes");
    return 1;
}

static int check_arrays(const struct gpuaes_messages *m)
{
    const struct gpuaes_mode *mode = gpuaes_modes[m->op];
    const char *missing = m->in == NULL                     ? "in"
                          : m->out == NULL                  ? "out"
                          : m->bytes == NULL                ? "bytes"
                          : m->status == NULL               ? "status"
                          : mode->takes_iv && m->iv == NULL ? "iv"
                                                            : NULL;
    if (missing != NULL)
        return refuse("%s is NULL; expected an array", missing);
    if (mode->hashes)
        return check_gcm(m);
    if (mode->takes_iv && m->iv_bytes != GPUAES_BLOCK)
        return refuse("iv_bytes is %zu; expected 16", m->iv_bytes);
    return 1;
}

/* ---- Arguments --------------------------------------------------------------------------- */

static unsigned rounds_of(const struct gpuaes_messages *m)
{
    if (m->key != NULL)
        return m->key->rounds;
    return key_size_rounds(gpuaes_modes[m->op]->pairs ? m->key_bytes / 2 : m->key_bytes);
}

static void fill_arguments(struct message_arguments *a, const struct gpuaes_messages *m)
{
    const struct gpuaes_mode *mode = gpuaes_modes[m->op];
    *a = (struct message_arguments){
        .in = memory_address(m->in),
        .out = memory_address(m->out),
        .bytes = memory_address(m->bytes),
        .iv = mode->takes_iv ? memory_address(m->iv) : 0,
        .aad = mode->hashes ? memory_address(m->aad) : 0,
        .aad_bytes = mode->hashes ? memory_address(m->aad_bytes) : 0,
        .tag = mode->hashes ? memory_address(m->tag) : 0,
        .status = memory_address(m->status),
        .keys = memory_address(m->keys),
        .key_table = memory_address(m->key_table),
        .key_index = memory_address(m->key_index),
        .count = (uint32_t)m->count,
        .key_count = (uint32_t)m->key_count,
        .max_bytes = (uint32_t)m->max_bytes,
        .key_bytes = (uint32_t)m->key_bytes,
        .iv_bytes = (uint32_t)m->iv_bytes,
        .tag_bytes = (uint32_t)m->tag_bytes,
        .op = m->op,
        .mode = mode->message_mode,
        .decrypts = mode->decrypts || m->op == GPUAES_GCM_DECRYPT,
        .bad_argument = GPUAES_BAD_ARGUMENT,
        .bad_tag = GPUAES_BAD_TAG,
    };
    if (m->key == NULL)
        return;
    memcpy(a->round_key, mode->decrypts ? m->key->decrypt : m->key->encrypt, sizeof a->round_key);
    if (mode->pairs)
        memcpy(a->tweak_key, m->tweak_key->encrypt, sizeof a->tweak_key);
}

/* ---- Calls --------------------------------------------------------------------------------- */

static int check_temp(const struct device *device, const struct message_shape *shape,
                      const void *temp, size_t temp_bytes)
{
    if (!shape->is_planned)
        return 1;
    if (temp == NULL)
        return device->stream_pool != NULL ||
               refuse("temp is NULL; expected device memory, as device %d has no memory pools",
                      device->ordinal);
    if (memory_address(temp) % ALIGNMENT != 0)
        return refuse("temp is %p; expected device memory aligned to 256", temp);
    return temp_bytes >= shape->temp_bytes ||
           refuse("temp_bytes is %zu; expected %zu", temp_bytes, shape->temp_bytes);
}

/* Without `temp`, memory of the device's pool is taken and given back in the order of the stream.
 */
static enum gpuaes_status launch(struct device *device, const struct message_shape *shape,
                                 struct message_arguments *a, const void *temp, drv_stream stream)
{
    const struct driver *d = device->driver;
    const int takes = shape->is_planned && temp == NULL;
    drv_ptr address = memory_address(temp);
    drv_result r = DRV_SUCCESS, freed = DRV_SUCCESS;
    if (takes)
        r = d->mem_alloc_from_pool_async(&address, shape->temp_bytes, device->stream_pool, stream);
    if (r != DRV_SUCCESS)
        return device_fault(device, "cuMemAllocFromPoolAsync", r);
    r = kernels_launch_message(d, &device->kernels, shape, a, address, stream);
    if (takes)
        freed = d->mem_free_async(address, stream);
    if (r == DRV_SUCCESS)
        r = freed;
    return r == DRV_SUCCESS ? GPUAES_OK : device_fault_midway(device, "queueing messages", r);
}

SECRET_FRAME static enum gpuaes_status queue_on(struct device *device,
                                                const struct gpuaes_messages *m, const void *temp,
                                                size_t temp_bytes, drv_stream stream)
{
    struct message_arguments a;
    int capturing;
    /* Fails for the legacy stream while one that it waits for is captured. */
    drv_result r = device->driver->stream_is_capturing(stream, &capturing);
    if (r == DRV_SUCCESS && gpuaes_modes[m->op]->hashes)
        r = gcm_check(device, NULL);
    if (r != DRV_SUCCESS)
        return device_fault(device, "queueing messages", r);
    fill_arguments(&a, m);
    const struct message_shape shape =
        kernels_message_shape(&device->kernels, m->op, rounds_of(m), m->total_bytes, &a);
    enum gpuaes_status status = GPUAES_BAD_ARGUMENT;
    if (check_temp(device, &shape, temp, temp_bytes)) {
        if (capturing != DRV_NOT_CAPTURED)
            runtime_keep_for_graphs();
        status = launch(device, &shape, &a, temp, stream);
    }
    gpuaes_cleanse(&a, sizeof a);
    return status;
}

static int take(struct gpuaes_messages *m, const struct gpuaes_messages *messages)
{
    if (messages == NULL)
        return refuse("messages is NULL; expected a struct gpuaes_messages");
    return struct_take(m, sizeof *m, messages) ||
           refuse("struct_bytes is %zu; expected %zu, or more and zeros behind those",
                  messages->struct_bytes, sizeof *m);
}

size_t gpuaes_queue_temp_bytes(const struct gpuaes_messages *messages)
{
    struct gpuaes_messages m = {0};
    if (!take(&m, messages) || !check_sizes(&m) || m.count == 0)
        return 0;
    return kernels_message_temp_bytes(m.op, m.count, m.max_bytes);
}

enum gpuaes_status gpuaes_queue(const struct gpuaes_messages *messages, void *temp,
                                size_t temp_bytes, void *stream, int device)
{
    struct runtime_guard guard;
    struct gpuaes_messages m = {0};
    if (!take(&m, messages) || !check_sizes(&m) || !check_keys(&m) || !check_arrays(&m))
        return GPUAES_BAD_ARGUMENT;
    if (temp == NULL && temp_bytes != 0) {
        (void)refuse("temp is NULL and temp_bytes is %zu; expected memory, or 0", temp_bytes);
        return GPUAES_BAD_ARGUMENT;
    }
    if (m.count == 0)
        return GPUAES_OK;
    struct device *its;
    enum gpuaes_status status = runtime_enter_stream(&guard, stream, device, &its);
    const int is_default = stream == NULL || stream == DRV_STREAM_LEGACY;
    if (status == GPUAES_BAD_ARGUMENT && (is_default || stream == DRV_STREAM_PER_THREAD))
        (void)refuse("device is %d; expected one that is in use", device);
    else if (status == GPUAES_BAD_ARGUMENT)
        (void)refuse("stream %p belongs to no device in use", stream);
    if (status != GPUAES_OK)
        return status;
    status = queue_on(its, &m, temp, temp_bytes, stream);
    cleanse_stack();
    runtime_leave_device(&guard, its);
    return status;
}
