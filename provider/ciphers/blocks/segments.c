/*
 * Where an update is cut, and its parts.
 *
 * The CPU's context stays the keeper of the state. The head brings it to a
 * block boundary with nothing held back; its IV then is where the device
 * begins; afterwards it is given the IV where the device ended.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/segments.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>

#include "provider/ciphers/blocks/blocks_cpu.h"
#include "provider/ciphers/blocks/data_unit.h"
#include "provider/common/big_stack.h"

/* ---- Where it is cut --------------------------------------------------------------- */

/* The default provider's context counts the bytes of the keystream block that it has used. */
static int cut_stream(const struct blocks_context *c, struct request *r)
{
    unsigned used;
    if (!context_get_uint(c, OSSL_CIPHER_PARAM_NUM, &used) || used >= GPUAES_BLOCK)
        return 1;
    r->head_in = r->head_out = (GPUAES_BLOCK - used) % GPUAES_BLOCK;
    if (r->in_bytes >= r->head_in && r->outsize >= r->in_bytes)
        r->middle = (r->in_bytes - r->head_in) / GPUAES_BLOCK * GPUAES_BLOCK;
    return 1;
}

/* Ciphers that work on blocks hold back what is not a whole one. */
static int cut_blocks(const struct blocks_context *c, struct request *r)
{
    unsigned padding;
    if (!blocks_find_buffered(c, &r->buffered) ||
        !context_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding))
        return 0;
    if (r->oneshot) {
        /* Passes by the buffer, which setting the IV would empty. */
        if (r->buffered == 0 && r->in_bytes % GPUAES_BLOCK == 0 && r->outsize >= r->in_bytes)
            r->middle = r->in_bytes;
        return 1;
    }
    /* A padded decryption keeps the last block until it knows that it is not the end. */
    size_t kept = !c->state.encrypting && padding && r->in_bytes != 0;
    r->writes = (r->buffered + r->in_bytes - kept) / GPUAES_BLOCK * GPUAES_BLOCK;
    r->head_in = (GPUAES_BLOCK - r->buffered) % GPUAES_BLOCK;
    r->head_out = r->buffered != 0 ? GPUAES_BLOCK : 0;
    if (r->in_bytes > r->head_in && r->outsize >= r->writes)
        r->middle = (r->in_bytes - r->head_in - kept) / GPUAES_BLOCK * GPUAES_BLOCK;
    return 1;
}

/*
 * In place, or out of place. With any other overlap the result depends on the order
 * in which bytes are written: that is left to the CPU.
 */
static int has_safe_overlap(const struct request *r)
{
    return r->in + r->head_in == r->out + r->head_out || r->out + r->writes <= r->in ||
           r->in + r->in_bytes <= r->out;
}

int segments_cut(const struct blocks_context *c, struct request *r)
{
    if (r->is_cut)
        return 1;
    r->is_cut = 1;
    r->buffered = r->head_in = r->head_out = r->middle = 0;
    r->writes = c->state.has_key ? r->in_bytes : 0; /* without a key, the CPU will say so */
    int is_stream = (c->cipher->flags & CIPHER_STREAM) != 0;
    if (c->cipher->flags & CIPHER_UNITS)
        unit_cut(r);
    else if (c->state.has_key && !(is_stream ? cut_stream : cut_blocks)(c, r))
        return 0;
    if (r->in == NULL || r->out == NULL || !has_safe_overlap(r))
        r->middle = 0;
    return 1;
}

/* ---- Its parts ---------------------------------------------------------------------- */

/*
 * After a call that failed when some of its output was written, or the context had moved: the same
 * keystream must not encrypt another text, nor may a chain go on at another place.
 */
static void lose(struct blocks_context *c)
{
    if ((c->cipher->flags & CIPHER_UNITS) != 0 || c->cipher->iv_bytes == 0)
        return;
    c->state.lost = 1;
    context_set_thresholds(c);
}

/*
 * The CPU, for what the devices left of the middle, which ends at `end`; of a data unit that is its
 * tail, too. Its context is left where that ends, or where the unit begins.
 */
static int finish_middle(struct blocks_context *c, const struct request *r, size_t end,
                         const struct gpuaes_report *report)
{
    int is_unit = (c->cipher->flags & CIPHER_UNITS) != 0;
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *shard = &report->shard[i];
        int is_last = i + 1 == report->shards;
        size_t at = shard->at + shard->done;
        size_t left = (is_last ? end : shard->at + shard->bytes) - at;
        struct request rest = {.in = r->in + at,
                               .in_bytes = left,
                               .out = r->out + at,
                               .outsize = left,
                               .oneshot = r->oneshot,
                               .bounced = r->bounced};
        if (left == 0 && (is_unit || !is_last))
            continue;
        if (is_unit ? !unit_finish(c, shard->iv, &rest)
                    : !context_set_iv(c, shard->iv) ||
                          (left != 0 &&
                           (!blocks_on_cpu_released(c, &rest, left) || rest.written != left))) {
            if (at != 0 || r->written != 0 || rest.written != 0)
                lose(c);
            return 0;
        }
    }
    return 1;
}

static enum gpuaes_status call_aes(void *arg)
{
    const struct device_call *c = arg;
    return gpuaes_aes(c->op, c->key, c->iv, c->in, c->out, c->len, c->flags, c->report);
}

static int run_head(struct blocks_context *c, struct request *r)
{
    size_t expected = r->written + r->head_out;
    return (r->head_in == 0 && r->head_out == 0) ||
           (blocks_on_cpu_released(c, r, r->head_in) && r->written == expected);
}

int segments_run(struct blocks_context *c, struct request *r, const struct work *work,
                 unsigned flags)
{
    int is_unit = (c->cipher->flags & CIPHER_UNITS) != 0;
    size_t bytes = r->in_bytes, middle = r->middle, end = is_unit ? bytes : middle;
    unsigned char iv[GPUAES_BLOCK] = {0};
    struct gpuaes_report report;
    if (!run_head(c, r) || !(is_unit ? unit_get_tweak : context_get_iv)(c, iv))
        return 0;
    struct device_call call = {.op = context_op(c),
                               .key = context_schedule(c),
                               .iv = iv,
                               .in = r->in,
                               .out = r->out,
                               .len = middle,
                               .flags = flags,
                               .report = &report};
    r->buffered = report.shards = 0;
    c->totals.cpu_bytes[CPU_SMALL] += bytes - middle;
    enum gpuaes_status status = run_on_big_stack(call_aes, &call, flags);
    int is_refused = device_judge(c->provider, &c->totals, work, &call, status) == REFUSED;
    if (is_refused && (call.is_written || r->written != 0))
        lose(c);
    int ok = !is_refused && finish_middle(c, r, end, &report);
    if (is_unit) { /* encrypted tweaks are secret */
        OPENSSL_cleanse(iv, sizeof iv);
        OPENSSL_cleanse(report.shard, report.shards * sizeof *report.shard);
    }
    if (!ok)
        return 0;
    request_advance(r, end, end);
    if (r->in_bytes == 0 || blocks_on_cpu(c, r, r->in_bytes))
        return 1;
    lose(c);
    return 0;
}
