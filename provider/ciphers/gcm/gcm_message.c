/*
 * Messages that a GPU does. NIST SP 800-38D section 7.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_message.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/gcm.h"
#include "base/minmax.h"
#include "provider/ciphers/gcm/gcm_cpu.h"
#include "provider/ciphers/gcm/gcm_stream.h"
#include "provider/common/big_stack.h"

int gcm_message_begin(struct gcm_context *c)
{
    struct gcm_message *o = &c->message;
    memset(o, 0, sizeof *o);
    if (!c->has_key)
        return 0;
    if (!gcm_cpu_take(c, o->mask, o->state.counter)) {
        OPENSSL_cleanse(o, sizeof *o);
        return 0;
    }
    gpuaes_gcm_hash(gcm_schedule(c), o->state.hash,
                    c->aad_bytes <= GCM_AAD_SHORT ? c->aad_short : c->aad_long, c->aad_bytes);
    c->side = GCM_BY_GPU;
    gcm_set_thresholds(c);
    return 1;
}

void gcm_message_give_up(struct gcm_context *c)
{
    if (c->side != GCM_BY_GPU)
        return;
    gcm_stream_drop(c);
    OPENSSL_cleanse(&c->message, sizeof c->message);
}

void gcm_leave_to_cpu(struct gcm_context *c, enum cpu_reason why)
{
    gcm_message_give_up(c);
    c->side = GCM_BY_CPU;
    c->again = -1;
    c->why = why;
    c->small = c->device_memory ? 0 : SIZE_MAX; /* every pointer must be looked at */
}

/* ---- Text of the CPU ---------------------------------------------------------------------- */

/* Text within one block. */
static int run_part(struct gcm_context *c, const unsigned char *in, unsigned char *out,
                    size_t bytes)
{
    struct gcm_message *o = &c->message;
    size_t at = o->text_bytes % GPUAES_BLOCK;
    if (at == 0 && !gcm_cpu_stream(c, o->state.counter, o->stream))
        return 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char text = in[i], made = text ^ o->stream[at + i];
        o->block[at + i] = c->encrypting ? made : text;
        out[i] = made;
    }
    if (at + bytes == GPUAES_BLOCK)
        gpuaes_gcm_hash(gcm_schedule(c), o->state.hash, o->block, GPUAES_BLOCK);
    o->text_bytes += bytes;
    return 1;
}

static int run_blocks(struct gcm_context *c, const unsigned char *in, unsigned char *out,
                      size_t bytes)
{
    if (bytes == 0)
        return 1;
    c->message.text_bytes += bytes;
    return gcm_cpu_blocks(c, &c->message.state, in, out, bytes);
}

/* The bytes until the block that is not whole would be. */
static size_t to_boundary(const struct gcm_context *c)
{
    return (GPUAES_BLOCK - c->message.text_bytes % GPUAES_BLOCK) % GPUAES_BLOCK;
}

static int run_on_host(struct gcm_context *c, const unsigned char *in, unsigned char *out,
                       size_t bytes)
{
    size_t head = min_u64(bytes, to_boundary(c));
    size_t blocks = (bytes - head) / GPUAES_BLOCK * GPUAES_BLOCK, tail = bytes - head - blocks;
    return (head == 0 || run_part(c, in, out, head)) &&
           run_blocks(c, in + head, out + head, blocks) &&
           (tail == 0 || run_part(c, in + head + blocks, out + head + blocks, tail));
}

/*
 * Through host memory. The state moves only where a first copy out has shown that device memory
 * can be written: what is hashed must be there.
 */
static int run_bounced(struct gcm_context *c, const unsigned char *in, unsigned char *out,
                       size_t bytes)
{
    enum { PIECE = 256 << 10 };
    size_t most = min_u64(bytes, PIECE);
    unsigned char *memory = OPENSSL_malloc(most);
    int ok = memory != NULL && device_copy(c->provider, memory, out, 1) &&
             device_copy(c->provider, out, memory, 1);
    while (ok && bytes != 0) {
        size_t n = min_u64(bytes, most);
        ok = device_copy(c->provider, memory, in, n) && run_on_host(c, memory, memory, n) &&
             device_copy(c->provider, out, memory, n);
        in += n;
        out += n;
        bytes -= n;
    }
    OPENSSL_clear_free(memory, most);
    return ok;
}

/* A part of the text of `work`. */
static int run_on_cpu(struct gcm_context *c, const struct work *work, size_t at, size_t bytes)
{
    const unsigned char *in = (const unsigned char *)work->in + at;
    unsigned char *out = (unsigned char *)work->out + at;
    if (bytes == 0)
        return 1;
    return (work_is_on_device(work) ? run_bounced : run_on_host)(c, in, out, bytes);
}

/* ---- Text of a device ---------------------------------------------------------------------- */

/* Takes what the devices did as it is, and has the CPU do what they left between. */
static int finish(struct gcm_context *c, const struct work *work, size_t begin,
                  const struct gpuaes_report *report)
{
    struct gcm_message *o = &c->message;
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *shard = &report->shard[i];
        size_t left = shard->bytes - shard->done, at = begin + shard->at + shard->done;
        gpuaes_gcm_join(gcm_schedule(c), o->state.hash, shard->hash, shard->done / GPUAES_BLOCK);
        memcpy(o->state.counter, shard->iv, GPUAES_BLOCK);
        o->text_bytes += shard->done;
        if (!run_on_cpu(c, work, at, left))
            return 0;
    }
    return 1;
}

static enum gpuaes_status call_gcm(void *arg)
{
    const struct device_call *c = arg;
    return gpuaes_gcm(c->op, c->gcm_key, c->state, c->in, c->out, c->len, c->flags, c->report);
}

/* Takes what a call did of the text from `begin` on, and has the CPU do the rest. */
static int finish_call(struct gcm_context *c, const struct work *work, size_t begin,
                       struct device_call *call, enum gpuaes_status status)
{
    int result = device_judge(c->provider, &c->totals, work, call, status);
    if (result == DONE)
        c->message.text_bytes += call->len;
    else if (result == DECLINED)
        result = finish(c, work, begin, call->report);
    /* The hashes tell the key of the hash. */
    OPENSSL_cleanse(call->report->shard, call->report->shards * sizeof *call->report->shard);
    return result;
}

/* ---- Updates --------------------------------------------------------------------------------- */

/* Head and tail are the CPU's, and all without `by_gpu`. */
int gcm_message_update(struct gcm_context *c, const struct work *work, int by_gpu, unsigned flags)
{
    uint64_t before = c->message.text_bytes;
    size_t head = by_gpu ? min_u64(work->len, to_boundary(c)) : 0;
    size_t blocks = by_gpu ? (work->len - head) / GPUAES_BLOCK * GPUAES_BLOCK : 0;
    size_t at = head + blocks;
    struct gpuaes_report report;
    struct device_call call = {.op = (enum gpuaes_op)work->kind,
                               .gcm_key = gcm_schedule(c),
                               .state = &c->message.state,
                               .in = (const unsigned char *)work->in + head,
                               .out = (unsigned char *)work->out + head,
                               .len = blocks,
                               .flags = flags,
                               .report = &report};
    report.shards = 0;
    c->totals.cpu_bytes[by_gpu ? CPU_SMALL : work->why] += work->len - blocks;
    int ok = run_on_cpu(c, work, 0, head);
    if (ok && blocks != 0)
        ok = finish_call(c, work, head, &call, run_on_big_stack(call_gcm, &call, flags));
    ok = ok && run_on_cpu(c, work, at, work->len - at);
    /* The text would be missing in what has a tag, or use the keystream of other text. */
    if (!ok && (call.is_written || c->message.text_bytes != before))
        gcm_end_message(c);
    return ok;
}

/* ---- The tag --------------------------------------------------------------------------------- */

/* Section 7.1, steps 5 and 6. */
static void make_tag(struct gcm_context *c, unsigned char tag[GPUAES_BLOCK])
{
    struct gcm_message *o = &c->message;
    const struct gpuaes_gcm_key *key = gcm_schedule(c);
    unsigned char lengths[GPUAES_BLOCK];
    gpuaes_gcm_hash(key, o->state.hash, o->block, o->text_bytes % GPUAES_BLOCK);
    gcm_write_lengths(lengths, c->aad_bytes, o->text_bytes);
    gpuaes_gcm_hash(key, o->state.hash, lengths, sizeof lengths);
    for (int i = 0; i < GPUAES_BLOCK; i++)
        tag[i] = o->state.hash[i] ^ o->mask[i];
}

int gcm_message_final(struct gcm_context *c)
{
    unsigned char tag[GPUAES_BLOCK], expected[GPUAES_BLOCK];
    size_t bytes;
    const int encrypting = c->encrypting;
    if (!encrypting && !gcm_cpu_get_tag(c, expected, &bytes))
        return 0; /* as the default provider: it may still come */
    make_tag(c, tag);
    int ok = encrypting ? gcm_cpu_put_tag(c, tag, GPUAES_BLOCK)
                        : CRYPTO_memcmp(tag, expected, bytes) == 0;
    OPENSSL_cleanse(tag, sizeof tag); /* the right one would help a forger */
    gcm_end_message(c);
    return ok;
}
