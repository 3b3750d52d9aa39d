/*
 * Updates on device memory: whole blocks stay on the device that owns them; the
 * rest comes to the CPU's context through host buffers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/device_memory.h"

#include <openssl/core_names.h>

#include "provider/ciphers/blocks/segments.h"
#include "provider/common/errors.h"
#include "provider/policy/policy.h"

static int run(struct aes_context *c, struct request *r)
{
    if (r->oneshot && (c->mode->flags & MODE_STREAM) == 0 && r->in_bytes % GPUAES_BLOCK != 0) {
        /* The default provider reads and writes past the ends of such a call. */
        error_raise(c->provider, ERROR_DEVICE_MEMORY,
                    "a one-shot call of %zu bytes is not one of whole blocks", r->in_bytes);
        return REFUSED;
    }
    if (aes_is_eligible(c) && r->middle != 0)
        return aes_run_segments(c, r, GPUAES_WAIT);
    c->totals.cpu_bytes[c->others] += r->in_bytes;
    return aes_on_cpu(c, r, r->in_bytes);
}

int aes_device_update(struct aes_context *c, struct request *r, struct work *work)
{
    if (r->in == NULL || r->out == NULL || r->in_bytes == 0)
        return DECLINED;
    if (!aes_segment(c, r))
        return REFUSED;
    work->in = r->in;
    work->out = r->out;
    work->len = r->in_bytes;
    work->out_len = r->writes;
    if (!policy_locate(c->provider, work))
        return REFUSED;
    int result = aes_stream_update(c, r, work);
    if (result != DECLINED)
        return result;
    r->bounced = (work->in_kind == GPUAES_DEVICE ? BOUNCE_IN : 0U) |
                 (work->out_kind == GPUAES_DEVICE ? BOUNCE_OUT : 0U);
    return r->bounced ? run(c, r) : DECLINED;
}

/* Only what has data to write is in the way of a stream. */
static int has_more(const struct aes_context *c)
{
    size_t buffered = 0;
    unsigned padding = 0;
    return c->state.has_key && (!aes_find_buffered(c, &buffered) || buffered != 0 ||
                                !aes_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding) ||
                                (c->state.encrypting && padding));
}

int aes_device_final(struct aes_context *c, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    if (c->mode->flags & MODE_STREAM)
        return c->cipher->cpu.final(c->hot.cpu, out, out_bytes, outsize);
    if (!policy_require(c->provider) || (has_more(c) && !aes_stream_sync(c)))
        return 0;
    return aes_bounced_final(c, out, out_bytes, outsize);
}
