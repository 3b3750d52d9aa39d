/*
 * Updates on device memory: whole blocks stay on the device that owns them; the rest comes to the
 * CPU's context through host buffers. And updates that are queued on a stream.
 *
 * In CTR the CPU's context is moved at once, since the counter follows from the
 * length. In CBC decryption it is the last block of input, which nobody has on
 * the host: the binding hands it on by itself (`chained`), and the CPU's context
 * learns it when it is needed. If the device fails before, it is lost.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks_device.h"

#include <openssl/core_names.h>

#include "base/counter.h"
#include "provider/ciphers/blocks/blocks_cpu.h"
#include "provider/ciphers/blocks/segments.h"
#include "provider/common/errors.h"

/* ---- Streams ------------------------------------------------------------------------- */

enum { DEVICES_MOST = 64 };

int blocks_stream_open(struct blocks_context *c, uint64_t handle)
{
    if (!blocks_stream_close(c))
        return 0;
    c->stream.handle = handle;
    return stream_bind(c->provider, &c->stream);
}

int blocks_stream_check(const struct blocks_context *c)
{
    if (!c->state.lost)
        return 1;
    error_raise(c->provider, ERROR_OUTPUT_UNDEFINED,
                "how far the text before got is not known; initialise with an IV");
    return 0;
}

/* Waits; `iv` gets where a chain ends. */
static enum gpuaes_status wait(const struct blocks_context *c, unsigned char iv[GPUAES_BLOCK])
{
    return stream_wait(c->provider, c->stream.binding, c->state.chained ? iv : NULL, NULL, NULL);
}

static enum gpuaes_status sync(struct blocks_context *c)
{
    unsigned char iv[GPUAES_BLOCK];
    if (!blocks_stream_check(c))
        return GPUAES_FAULT;
    if (c->stream.binding == NULL)
        return GPUAES_OK;
    enum gpuaes_status status = wait(c, iv);
    if (stream_can_repeat(status))
        return status;
    if (c->state.chained && (status != GPUAES_OK || !context_set_iv(c, iv))) {
        c->state.lost = 1;
        status = GPUAES_FAULT;
    }
    c->state.chained = 0;
    return status;
}

int blocks_stream_sync(struct blocks_context *c)
{
    return sync(c) == GPUAES_OK;
}

int blocks_stream_close(struct blocks_context *c)
{
    enum gpuaes_status status = sync(c);
    if (stream_can_repeat(status))
        return 0;
    stream_unbind(&c->stream.binding);
    return status == GPUAES_OK;
}

int blocks_stream_copy(struct blocks_context *copy, const struct blocks_context *original)
{
    unsigned char iv[GPUAES_BLOCK];
    copy->stream.binding = NULL;
    if (!blocks_stream_check(original))
        return 0;
    if (original->stream.binding == NULL)
        return 1;
    copy->state.chained = 0;
    if (original->state.chained && (wait(original, iv) != GPUAES_OK || !context_set_iv(copy, iv)))
        return 0;
    return stream_bind(copy->provider, &copy->stream);
}

/*
 * The legacy stream of each device is another: the memory's is the one that takes
 * it. Trying the others starts nothing on devices that the application leaves alone.
 */
static enum gpuaes_status queue_elsewhere(struct blocks_context *c, struct device_call *call,
                                          unsigned char iv[GPUAES_BLOCK])
{
    struct gpuaes_stream_binding *binding;
    if (!blocks_stream_sync(c) || !context_get_iv(c, iv))
        return GPUAES_BAD_RANGE;
    call->iv = iv;
    for (int ordinal = 0; ordinal < DEVICES_MOST; ordinal++) {
        if (stream_bind_legacy(&binding, ordinal) != GPUAES_OK)
            continue;
        enum gpuaes_status status = stream_queue(binding, call, 0);
        if (status != GPUAES_BAD_RANGE) {
            stream_unbind(&c->stream.binding);
            c->stream.binding = binding;
            return status;
        }
        stream_unbind(&binding);
    }
    return GPUAES_BAD_RANGE;
}

static enum gpuaes_status queue_blocks(struct blocks_context *c, const struct work *work,
                                       unsigned char iv[GPUAES_BLOCK])
{
    struct device_call call = {.op = context_op(c),
                               .key = context_schedule(c),
                               .iv = c->state.chained ? NULL : iv,
                               .in = work->in,
                               .out = work->out,
                               .len = work->len};
    if (!context_get_iv(c, iv))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = stream_queue(c->stream.binding, &call, 0);
    if (status == GPUAES_BAD_RANGE && stream_is_legacy(&c->stream))
        status = queue_elsewhere(c, &call, iv);
    return status;
}

/*
 * Whole blocks, in memory that the device reaches by itself. During a chain the host does not know
 * the IV, so none begins where the application has a pointer to it.
 */
static int can_be_queued(const struct blocks_context *c, const struct request *r,
                         const struct work *work)
{
    return work->in_kind != GPUAES_PAGEABLE && work->out_kind != GPUAES_PAGEABLE &&
           context_is_eligible(c) &&
           !((c->cipher->flags & CIPHER_CHAINED) != 0 && c->state.iv_lent) && r->head_out == 0 &&
           r->middle == r->in_bytes;
}

static int queue_update(struct blocks_context *c, struct request *r, const struct work *work)
{
    unsigned char iv[GPUAES_BLOCK] = {0};
    if (c->stream.binding == NULL)
        return DECLINED;
    enum gpuaes_status status = GPUAES_BAD_RANGE;
    if (can_be_queued(c, r, work))
        status = queue_blocks(c, work, iv);
    if (status == GPUAES_FAULT || status == GPUAES_BUSY) {
        stream_raise(c->provider, status);
        return REFUSED;
    }
    if (status != GPUAES_OK) /* nothing of it was queued */
        return blocks_stream_sync(c) ? DECLINED : REFUSED;
    size_t bytes = r->in_bytes;
    request_advance(r, bytes, bytes);
    if (c->cipher->flags & CIPHER_CHAINED)
        c->state.chained = 1;
    if ((c->cipher->flags & CIPHER_STREAM) == 0)
        return DONE;
    counter_add(iv, COUNTER_CTR, bytes / GPUAES_BLOCK);
    return context_set_iv(c, iv);
}

/* ---- Device memory --------------------------------------------------------------------- */

static int run(struct blocks_context *c, struct request *r, const struct work *work)
{
    if (r->oneshot && (c->cipher->flags & CIPHER_STREAM) == 0 && r->in_bytes % GPUAES_BLOCK != 0) {
        /* The default provider reads and writes past the ends of such a call. */
        error_raise(c->provider, ERROR_DEVICE_MEMORY,
                    "a one-shot call of %zu bytes is not one of whole blocks", r->in_bytes);
        return REFUSED;
    }
    if (context_is_eligible(c) && r->middle != 0)
        return segments_run(c, r, work, GPUAES_WAIT);
    c->totals.cpu_bytes[c->reason_if_small] += r->in_bytes;
    return blocks_on_cpu(c, r, r->in_bytes);
}

int blocks_device_update(struct blocks_context *c, struct request *r, struct work *work)
{
    if (r->in == NULL || r->out == NULL || r->in_bytes == 0)
        return DECLINED;
    if (!segments_cut(c, r))
        return REFUSED;
    work->in = r->in;
    work->out = r->out;
    work->len = r->in_bytes;
    work->out_len = r->writes;
    if (!policy_locate(c->provider, work))
        return REFUSED;
    int result = queue_update(c, r, work);
    if (result != DECLINED)
        return result;
    r->bounced = (work->in_kind == GPUAES_DEVICE ? BOUNCE_IN : 0U) |
                 (work->out_kind == GPUAES_DEVICE ? BOUNCE_OUT : 0U);
    return r->bounced ? run(c, r, work) : DECLINED;
}

/* Only what has data to write is in the way of a stream. */
static int has_more(const struct blocks_context *c)
{
    size_t buffered = 0;
    unsigned padding = 0;
    return c->state.has_key && (!blocks_find_buffered(c, &buffered) || buffered != 0 ||
                                !context_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding) ||
                                (c->state.encrypting && padding));
}

int blocks_device_final(struct blocks_context *c, unsigned char *out, size_t *out_bytes,
                        size_t outsize)
{
    if (c->cipher->flags & CIPHER_STREAM)
        return c->cipher->cpu.final(c->hot.cpu, out, out_bytes, outsize);
    if (!policy_require(c->provider) || (has_more(c) && !blocks_stream_sync(c)))
        return 0;
    return blocks_bounced_final(c, out, out_bytes, outsize);
}
