/*
 * Updates on a stream.
 *
 * In CTR the CPU's context is moved at once, since the counter follows from the
 * length. In CBC decryption it is the last block of input, which nobody has on
 * the host: the binding hands it on by itself (`chained`), and the CPU's context
 * learns it when it is needed. If the device fails before, it is lost.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/cuda_stream.h"

#include "provider/ciphers/aes/segments.h"
#include "provider/common/device_params.h"
#include "provider/common/errors.h"
#include "provider/common/offload.h"

enum { DEVICES_MOST = 64 };

static enum gpuaes_status bind(struct gpuaes_stream_binding **binding, void *stream, int device)
{
    struct work work = {.stream = stream, .device = device, .flags = GPUAES_WAIT};
    enum gpuaes_status status = offload(&work, OFFLOAD_BIND);
    *binding = status == GPUAES_OK ? work.binding : NULL;
    return status;
}

static void unbind(struct gpuaes_stream_binding *binding)
{
    struct work work = {.binding = binding};
    if (binding != NULL)
        (void)offload(&work, OFFLOAD_CLOSE);
}

void aes_stream_unbind(struct aes_context *c)
{
    unbind(c->stream.binding);
    c->stream.binding = NULL;
}

/* The legacy stream is at first that of the first device in use. */
static int open_binding(struct aes_context *c)
{
    enum gpuaes_status status =
        bind(&c->stream.binding, device_params_stream(c->stream.handle), offload_device(0));
    if (status == GPUAES_OK)
        return 1;
    error_raise(c->provider, status == GPUAES_BAD_ARGUMENT ? ERROR_BAD_PARAMETER : ERROR_NO_DEVICE,
                "cuda-stream cannot be used: %s", gpuaes_status_text(status));
    return 0;
}

int aes_stream_open(struct aes_context *c, uint64_t handle)
{
    if (!aes_stream_close(c))
        return 0;
    c->stream.handle = handle;
    return open_binding(c);
}

int aes_stream_check(const struct aes_context *c)
{
    if (!c->stream.lost)
        return 1;
    error_raise(c->provider, ERROR_OUTPUT_UNDEFINED,
                "what follows the work on cuda-stream is not known; initialise with an IV");
    return 0;
}

/* Nothing was done, and nothing is lost. */
static int can_be_repeated(enum gpuaes_status status)
{
    return status == GPUAES_BUSY || status == GPUAES_NO_MEMORY;
}

static void raise_captured(const struct aes_context *c)
{
    error_raise(c->provider, ERROR_CAPTURED,
                "cuda-stream takes no update and cannot be waited for until that ends; nothing "
                "was done, and the call can be repeated then");
}

/* Waits; `iv` gets where a chain ends. */
static enum gpuaes_status wait(const struct aes_context *c, unsigned char iv[GPUAES_BLOCK])
{
    struct work work = {.binding = c->stream.binding, .iv = c->stream.chained ? iv : NULL};
    enum gpuaes_status status = offload(&work, OFFLOAD_WAIT);
    if (status == GPUAES_BUSY)
        raise_captured(c);
    else if (status == GPUAES_NO_MEMORY)
        error_raise(c->provider, ERROR_OUT_OF_MEMORY,
                    "no thread could be made to wait for cuda-stream; the call can be repeated");
    else if (status != GPUAES_OK)
        error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "work queued on cuda-stream: %s",
                    gpuaes_status_text(status));
    return status;
}

static enum gpuaes_status sync(struct aes_context *c)
{
    unsigned char iv[GPUAES_BLOCK];
    if (!aes_stream_check(c))
        return GPUAES_FAULT;
    if (c->stream.binding == NULL)
        return GPUAES_OK;
    enum gpuaes_status status = wait(c, iv);
    if (can_be_repeated(status))
        return status;
    if (c->stream.chained && (status != GPUAES_OK || !c->mode->set_position(c, iv))) {
        c->stream.lost = 1;
        status = GPUAES_FAULT;
    }
    c->stream.chained = 0;
    return status;
}

int aes_stream_sync(struct aes_context *c)
{
    return sync(c) == GPUAES_OK;
}

int aes_stream_close(struct aes_context *c)
{
    enum gpuaes_status status = sync(c);
    if (can_be_repeated(status))
        return 0;
    aes_stream_unbind(c);
    return status == GPUAES_OK;
}

int aes_stream_copy(struct aes_context *copy, const struct aes_context *original)
{
    unsigned char iv[GPUAES_BLOCK];
    copy->stream.binding = NULL;
    if (!aes_stream_check(original))
        return 0;
    if (original->stream.binding == NULL)
        return 1;
    copy->stream.chained = 0;
    if (original->stream.chained &&
        (wait(original, iv) != GPUAES_OK || !copy->mode->set_position(copy, iv)))
        return 0;
    return open_binding(copy);
}

/*
 * The legacy stream of each device is another: the memory's is the one that takes
 * it. Trying the others starts nothing on devices that the application leaves alone.
 */
static enum gpuaes_status queue_elsewhere(struct aes_context *c, struct work *work,
                                          unsigned char iv[GPUAES_BLOCK])
{
    if (!aes_stream_sync(c) || !c->mode->get_position(c, iv))
        return GPUAES_BAD_RANGE;
    work->iv = iv;
    for (int ordinal = 0; ordinal < DEVICES_MOST; ordinal++) {
        if (bind(&work->binding, NULL, ordinal) != GPUAES_OK)
            continue;
        enum gpuaes_status status = offload(work, OFFLOAD_QUEUE);
        if (status != GPUAES_BAD_RANGE) {
            aes_stream_unbind(c);
            c->stream.binding = work->binding;
            return status;
        }
        unbind(work->binding);
    }
    return GPUAES_BAD_RANGE;
}

static enum gpuaes_status queue_blocks(struct aes_context *c, struct work *work,
                                       unsigned char iv[GPUAES_BLOCK])
{
    work->binding = c->stream.binding;
    work->key = aes_schedule(c);
    work->iv = c->stream.chained ? NULL : iv;
    if (work->key == NULL || !c->mode->get_position(c, iv))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = offload(work, OFFLOAD_QUEUE);
    if (status == GPUAES_BAD_RANGE && device_params_stream(c->stream.handle) == NULL)
        status = queue_elsewhere(c, work, iv);
    return status;
}

/*
 * Whole blocks, in memory that the device reaches by itself. During a chain the host does not know
 * the IV, so none begins where the application has a pointer to it.
 */
static int can_be_queued(const struct aes_context *c, const struct request *r,
                         const struct work *work)
{
    return work->in_kind != GPUAES_PAGEABLE && work->out_kind != GPUAES_PAGEABLE &&
           aes_is_eligible(c) && !((c->mode->flags & MODE_CHAINED) != 0 && c->state.iv_lent) &&
           r->head_out == 0 && r->middle == r->in_bytes;
}

int aes_stream_update(struct aes_context *c, struct request *r, struct work *work)
{
    unsigned char iv[GPUAES_BLOCK] = {0};
    if (c->stream.binding == NULL)
        return DECLINED;
    enum gpuaes_status status = GPUAES_BAD_RANGE;
    if (can_be_queued(c, r, work))
        status = queue_blocks(c, work, iv);
    if (status == GPUAES_FAULT) {
        error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "cuda-stream: %s %s",
                    gpuaes_status_text(status), gpuaes_reason());
        return REFUSED;
    }
    if (status == GPUAES_BUSY) {
        raise_captured(c);
        return REFUSED;
    }
    if (status != GPUAES_OK) /* nothing of it was queued */
        return aes_stream_sync(c) ? DECLINED : REFUSED;
    size_t bytes = r->in_bytes;
    aes_advance(r, bytes, bytes);
    if (c->mode->flags & MODE_CHAINED)
        c->stream.chained = 1;
    if (c->mode->advance == NULL)
        return DONE;
    c->mode->advance(iv, bytes / GPUAES_BLOCK);
    return c->mode->set_position(c, iv);
}
