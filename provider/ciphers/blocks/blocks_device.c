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
#include "provider/ciphers/blocks/blocks_device.h"

#include "provider/ciphers/blocks/segments.h"
#include "provider/common/errors.h"

enum { DEVICES_MOST = 64 };

void aes_stream_unbind(struct aes_context *c)
{
    stream_unbind(&c->stream.named.binding);
}

int aes_stream_open(struct aes_context *c, uint64_t handle)
{
    if (!aes_stream_close(c))
        return 0;
    c->stream.named.handle = handle;
    return stream_bind(c->provider, &c->stream.named);
}

int aes_stream_check(const struct aes_context *c)
{
    if (!c->stream.lost)
        return 1;
    error_raise(c->provider, ERROR_OUTPUT_UNDEFINED,
                "what follows the work on cuda-stream is not known; initialise with an IV");
    return 0;
}

/* Waits; `iv` gets where a chain ends. */
static enum gpuaes_status wait(const struct aes_context *c, unsigned char iv[GPUAES_BLOCK])
{
    return stream_wait(c->provider, c->stream.named.binding, c->stream.chained ? iv : NULL, NULL,
                       NULL);
}

static enum gpuaes_status sync(struct aes_context *c)
{
    unsigned char iv[GPUAES_BLOCK];
    if (!aes_stream_check(c))
        return GPUAES_FAULT;
    if (c->stream.named.binding == NULL)
        return GPUAES_OK;
    enum gpuaes_status status = wait(c, iv);
    if (stream_can_repeat(status))
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
    if (stream_can_repeat(status))
        return 0;
    aes_stream_unbind(c);
    return status == GPUAES_OK;
}

int aes_stream_copy(struct aes_context *copy, const struct aes_context *original)
{
    unsigned char iv[GPUAES_BLOCK];
    copy->stream.named.binding = NULL;
    if (!aes_stream_check(original))
        return 0;
    if (original->stream.named.binding == NULL)
        return 1;
    copy->stream.chained = 0;
    if (original->stream.chained &&
        (wait(original, iv) != GPUAES_OK || !copy->mode->set_position(copy, iv)))
        return 0;
    return stream_bind(copy->provider, &copy->stream.named);
}

/*
 * The legacy stream of each device is another: the memory's is the one that takes
 * it. Trying the others starts nothing on devices that the application leaves alone.
 */
static enum gpuaes_status queue_elsewhere(struct aes_context *c, struct stream_work *work,
                                          unsigned char iv[GPUAES_BLOCK])
{
    if (!aes_stream_sync(c) || !c->mode->get_position(c, iv))
        return GPUAES_BAD_RANGE;
    work->iv = iv;
    for (int ordinal = 0; ordinal < DEVICES_MOST; ordinal++) {
        if (stream_bind_legacy(&work->binding, ordinal) != GPUAES_OK)
            continue;
        enum gpuaes_status status = stream_queue(work);
        if (status != GPUAES_BAD_RANGE) {
            aes_stream_unbind(c);
            c->stream.named.binding = work->binding;
            return status;
        }
        stream_unbind(&work->binding);
    }
    return GPUAES_BAD_RANGE;
}

static enum gpuaes_status queue_blocks(struct aes_context *c, const struct work *work,
                                       unsigned char iv[GPUAES_BLOCK])
{
    struct stream_work queued = {.binding = c->stream.named.binding,
                                 .op = aes_op(c),
                                 .key = aes_schedule(c),
                                 .iv = c->stream.chained ? NULL : iv,
                                 .in = work->in,
                                 .out = work->out,
                                 .len = work->len};
    if (queued.key == NULL || !c->mode->get_position(c, iv))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = stream_queue(&queued);
    if (status == GPUAES_BAD_RANGE && stream_is_legacy(&c->stream.named))
        status = queue_elsewhere(c, &queued, iv);
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
    if (c->stream.named.binding == NULL)
        return DECLINED;
    enum gpuaes_status status = GPUAES_BAD_RANGE;
    if (can_be_queued(c, r, work))
        status = queue_blocks(c, work, iv);
    if (status == GPUAES_FAULT || status == GPUAES_BUSY) {
        stream_raise(c->provider, status);
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
