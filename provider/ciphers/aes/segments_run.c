/*
 * The parts of an update: head, middle, tail.
 *
 * The CPU's context stays the keeper of the state. The head brings it to a
 * block boundary with nothing held back; its IV then is where the device
 * begins; afterwards it is given the IV where the device ended.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/crypto.h>
#include <string.h>

#include "provider/ciphers/aes/segments.h"
#include "provider/common/errors.h"
#include "provider/common/offload.h"
#include "provider/policy/policy.h"

enum gpuaes_op aes_op(const struct aes_context *c)
{
    if (c->mode == AES_CTR)
        return GPUAES_CTR;
    if (c->mode == AES_CBC)
        return GPUAES_CBC_DECRYPT;
    return c->encrypting ? GPUAES_ECB_ENCRYPT : GPUAES_ECB_DECRYPT;
}

const struct gpuaes_key *aes_schedule(struct aes_context *c)
{
    if (!c->expanded && !gpuaes_key_expand(&c->schedule, c->key, c->key_bytes))
        return NULL;
    c->expanded = 1;
    return &c->schedule;
}

static int do_head(struct aes_context *c, const struct call *call, const struct split *s)
{
    size_t written = 0;
    struct call head = *call;
    if (s->head_in == 0 && s->head_out == 0)
        return 1;
    head.out_bytes = &written;
    head.in_bytes = s->head_in;
    head.oneshot = 0;
    return aes_on_cpu_released(c, &head) && written == s->head_out;
}

static enum gpuaes_status run_middle(struct aes_context *c, const struct call *call,
                                     const struct split *s, int insist,
                                     unsigned char iv[GPUAES_BLOCK], struct gpuaes_report *report)
{
    struct offload work = {.call = OFFLOAD_AES,
                           .op = aes_op(c),
                           .key = aes_schedule(c),
                           .iv = iv,
                           .in = call->in + s->head_in,
                           .out = call->out + s->head_out,
                           .bytes = s->middle,
                           .flags = insist ? GPUAES_WAIT : policy_flags(c->provider),
                           .report = report};
    work.restarts = work.flags == GPUAES_WAIT;
    report->shards = 0;
    enum gpuaes_status status = work.key == NULL ? GPUAES_BAD_ARGUMENT : offload(&work);
    if (status != GPUAES_OK)
        policy_explain_failure(c->provider, status);
    return status;
}

/* The CPU, for what the devices left of a part. */
static int finish_part(struct aes_context *c, const struct call *call, const struct split *s,
                       const struct gpuaes_shard *part)
{
    size_t at = part->at + part->done, bytes = part->bytes - part->done, written = 0;
    struct call rest = {.out = call->out + s->head_out + at,
                        .out_bytes = &written,
                        .room = bytes,
                        .in = call->in + s->head_in + at,
                        .in_bytes = bytes,
                        .oneshot = call->oneshot,
                        .bounced = call->bounced};
    return aes_set_position(c, part->iv) && aes_on_cpu_released(c, &rest) && written == bytes;
}

/* All parts; the CPU's context is left where the last one ends. */
static int finish_parts(struct aes_context *c, const struct call *call, const struct split *s,
                        const struct gpuaes_report *report)
{
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *part = &report->shard[i];
        if (part->done != part->bytes && !finish_part(c, call, s, part))
            return 0;
        if (part->done == part->bytes && i + 1 == report->shards && !aes_set_position(c, part->iv))
            return 0;
    }
    return 1;
}

static size_t bytes_done(const struct gpuaes_report *report)
{
    size_t done = 0;
    for (unsigned i = 0; i < report->shards; i++)
        done += report->shard[i].done;
    return done;
}

static int do_tail(struct aes_context *c, const struct call *call, const struct split *s)
{
    size_t in_at = s->head_in + s->middle, out_at = s->head_out + s->middle, written = 0;
    struct call tail = {.out = call->out + out_at,
                        .out_bytes = &written,
                        .room = call->room - out_at,
                        .in = call->in + in_at,
                        .in_bytes = s->tail_in,
                        .oneshot = call->oneshot,
                        .bounced = call->bounced};
    if (s->tail_in != 0 && !aes_on_cpu(c, &tail))
        return 0;
    *call->out_bytes = out_at + written;
    return 1;
}

/* The devices first, then the CPU for what is left of the middle, and the tail. */
static int do_middle_and_tail(struct aes_context *c, const struct call *call, const struct split *s,
                              int insist)
{
    struct gpuaes_report report;
    unsigned char iv[GPUAES_BLOCK] = {0};
    if (!aes_get_position(c, iv))
        return 0;
    enum gpuaes_status status = run_middle(c, call, s, insist, iv, &report);
    if (report.shards == 0) { /* nothing was begun: all of it is left */
        report.shards = 1;
        report.shard[0] = (struct gpuaes_shard){.bytes = s->middle};
        memcpy(report.shard[0].iv, iv, sizeof iv);
    }
    size_t done = bytes_done(&report);
    c->totals.cpu_bytes[CPU_FAILED] += s->middle - done;
    c->totals.cpu_bytes[CPU_SMALL] += s->head_in + s->tail_in;
    if (status == GPUAES_UNDEFINED || status == GPUAES_BAD_RANGE) {
        error_raise(c->provider,
                    status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_OUTPUT_UNDEFINED,
                    "after %zu of %zu bytes", s->head_in + done, call->in_bytes);
        return 0;
    }
    return finish_parts(c, call, s, &report) && do_tail(c, call, s);
}

int aes_run_split(struct aes_context *c, const struct call *call, const struct split *s, int insist)
{
    return do_head(c, call, s) && do_middle_and_tail(c, call, s, insist);
}
