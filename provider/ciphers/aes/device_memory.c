/*
 * Updates on device memory: whole blocks stay on the device that owns them; the
 * rest comes to the CPU's context through host buffers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/device_memory.h"

#include <openssl/core_names.h>

#include "provider/ciphers/aes/bounce.h"
#include "provider/ciphers/aes/cuda_stream.h"
#include "provider/ciphers/aes/segments.h"
#include "provider/ciphers/aes/update.h"
#include "provider/common/errors.h"
#include "provider/common/offload.h"
#include "provider/policy/policy.h"

/*
 * Both ranges are looked at before anything happens. Kinds mean something only if the device was
 * there all the time: one that was released meanwhile, for want of work, is started again.
 */
static int locate(const struct aes_context *c, const struct call *call, size_t writes,
                  struct offload *places)
{
    *places = (struct offload){.call = OFFLOAD_LOCATE,
                               .in = call->in,
                               .out = call->out,
                               .bytes = call->in_bytes,
                               .out_bytes = writes};
    do {
        if (!policy_require(c->provider))
            return 0;
        if (offload(places) != GPUAES_OK) {
            error_raise(c->provider, ERROR_DEVICE_MEMORY,
                        "what memory it is cannot be found: no thread could be created");
            return 0;
        }
    } while (gpuaes_state() != GPUAES_READY);
    if (places->in_kind != GPUAES_FOREIGN && places->out_kind != GPUAES_FOREIGN)
        return 1;
    int input = places->in_kind == GPUAES_FOREIGN;
    error_raise(c->provider, ERROR_BAD_DEVICE_RANGE,
                "%s of %zu bytes, or it is not of a primary context", input ? "input" : "output",
                input ? call->in_bytes : writes);
    return 0;
}

static int run(struct aes_context *c, const struct call *call, size_t held)
{
    struct split split;
    if (call->oneshot && c->mode != AES_CTR && call->in_bytes % GPUAES_BLOCK != 0) {
        /* The default provider reads and writes past the ends of such a call. */
        error_raise(c->provider, ERROR_DEVICE_MEMORY,
                    "a one-shot call of %zu bytes is not one of whole blocks", call->in_bytes);
        return REFUSED;
    }
    if (aes_is_eligible(c) && aes_make_split(c, call, held, &split))
        return aes_run_split(c, call, &split, 1);
    c->totals.cpu_bytes[c->others] += call->in_bytes;
    return aes_on_cpu(c, call);
}

static unsigned sides_on_device(const struct offload *places)
{
    return (places->in_kind == GPUAES_DEVICE ? BOUNCE_IN : 0U) |
           (places->out_kind == GPUAES_DEVICE ? BOUNCE_OUT : 0U);
}

/* Without a key, the CPU will say so. */
static int measure(const struct aes_context *c, struct call *call, size_t *held, size_t *writes)
{
    *held = *writes = 0;
    if (c->has_key && !aes_measure(c, call, held, writes))
        return 0;
    call->held = call->oneshot ? 0 : *held;
    return 1;
}

int aes_device_update(struct aes_context *c, const struct call *given)
{
    struct call call = *given;
    struct offload places;
    size_t held, writes;
    if (call.in == NULL || call.out == NULL || call.in_bytes == 0)
        return DECLINED;
    if (!measure(c, &call, &held, &writes) || !locate(c, &call, writes, &places))
        return REFUSED;
    int result = aes_stream_update(c, &call, held, &places);
    if (result != DECLINED)
        return result;
    call.bounced = sides_on_device(&places);
    return call.bounced ? run(c, &call, held) : DECLINED;
}

int aes_device_found(struct aes_context *c, const struct call *given)
{
    struct call call = *given;
    struct offload places;
    size_t held, writes;
    if (!measure(c, &call, &held, &writes) || !locate(c, &call, writes, &places))
        return REFUSED;
    call.bounced = sides_on_device(&places);
    return call.bounced ? run(c, &call, held) : DECLINED;
}

/* Only what has data to write is in the way of a stream. */
static int has_more(const struct aes_context *c)
{
    size_t held = 0;
    unsigned padding = 0;
    return c->has_key &&
           (!aes_find_held(c, &held) || held != 0 ||
            !aes_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding) || (c->encrypting && padding));
}

int aes_device_final(struct aes_context *c, unsigned char *out, size_t *out_bytes, size_t room)
{
    if (c->mode == AES_CTR)
        return c->functions->final(c->cpu, out, out_bytes, room);
    if (!policy_require(c->provider) || (has_more(c) && !aes_stream_settle(c)))
        return REFUSED;
    return aes_bounced_final(c, out, out_bytes, room);
}
