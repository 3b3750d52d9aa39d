/*
 * CTR updates from keystream made ahead.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/read_ahead/read_ahead.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/clock.h"
#include "base/counter.h"
#include "provider/ciphers/read_ahead/read_ahead_gain.h"
#include "provider/ciphers/read_ahead/stream_detector.h"
#include "provider/common/big_stack.h"
#include "provider/policy/policy.h"

/*
 * Larger updates have the device to themselves, or the CPU: with 1 MiB, which is in no near
 * cache, AES-128 was 10 % slower combined than on an H200's host alone.
 */
enum { LARGEST_UPDATE = 256 << 10 };

/*
 * A stream that has gone on for so long is expected to go on for as long again: then
 * the milliseconds of allocating pinned memory pay.
 */
#define ALLOCATE_AFTER ((uint64_t)32 << 20)

/* Where it does not pay at the moment; while there is no device yet. */
enum { RETRY_AFTER = 16 << 20, LOOK_AGAIN = 1 << 20 };

/* ---- Position ------------------------------------------------------------------- */

static void subtract_one(unsigned char counter[GPUAES_BLOCK])
{
    for (int i = GPUAES_BLOCK - 1; i >= 0; i--)
        if (counter[i]-- != 0)
            break;
}

/* Sets the CPU's context of `c` to a position of the stream that `ahead` reads. */
static int move_to(struct blocks_context *c, const struct blocks_context *ahead, uint64_t position)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    unsigned char iv[GPUAES_BLOCK], used[GPUAES_BLOCK];
    size_t offset = position % GPUAES_BLOCK, written;
    memcpy(iv, ahead->ahead.origin, sizeof iv);
    counter_add(iv, COUNTER_CTR, position / GPUAES_BLOCK);
    if (!context_set_iv(c, iv))
        return 0;
    if (offset == 0)
        return 1;
    int ok = c->hot.cpu_update(c->hot.cpu, used, &written, sizeof used, zeros, offset);
    OPENSSL_cleanse(used, sizeof used);
    return ok;
}

/*
 * To where the stream is. At the end of a block the context still has the keystream of
 * the last block that was used in part: who sets `num` then gets that.
 */
static int set_position(struct blocks_context *c, const struct blocks_context *ahead)
{
    uint64_t position = gpuaes_keystream_position(ahead->hot.keystream);
    if (position % GPUAES_BLOCK == 0 && ahead->ahead.partial != 0 &&
        !move_to(c, ahead, ahead->ahead.partial))
        return 0;
    return move_to(c, ahead, position);
}

/* Some bytes of the stream were done without the CPU's context. */
static inline void note_combined(struct blocks_context *c)
{
    uint64_t position = gpuaes_keystream_position(c->hot.keystream);
    c->ahead.behind = 1;
    if (position % GPUAES_BLOCK != 0)
        c->ahead.partial = position;
}

static void note_done_by_cpu(struct blocks_context *c, size_t bytes)
{
    gpuaes_keystream_skip(c->hot.keystream, bytes);
}

static int sync_cpu(struct blocks_context *c)
{
    if (c->hot.keystream == NULL || !c->ahead.behind)
        return 1;
    if (!set_position(c, c))
        return 0;
    c->ahead.behind = 0;
    c->ahead.partial = 0;
    return 1;
}

static int copy_position(struct blocks_context *copy, const struct blocks_context *original)
{
    copy->hot.keystream = NULL;
    memset(&copy->ahead, 0, sizeof copy->ahead);
    return original->hot.keystream == NULL || !original->ahead.behind ||
           set_position(copy, original);
}

/* ---- Begin and end ----------------------------------------------------------------- */

/* The settings allow it. */
static int is_allowed(const struct provider *provider)
{
    return provider->settings.reads_ahead && provider->settings.policy != POLICY_CPU;
}

static int is_possible(const struct blocks_context *c)
{
    return c->hot.keystream == NULL && !c->state.iv_lent && !c->state.device_memory &&
           c->stream.binding == NULL && context_is_eligible(c) && is_allowed(c->provider);
}

static uint64_t enough(const struct blocks_context *c)
{
    uint64_t least = policy_is_forced(c->provider) ? READ_AHEAD_SOONEST : read_ahead_begin_after();
    return c->ahead.retry_after > least ? c->ahead.retry_after : least;
}

static uint64_t distance(const struct blocks_context *c)
{
    enum gpuaes_state state = gpuaes_state();
    if (!is_possible(c) || state == GPUAES_FAILED)
        return UINT64_MAX;
    if (state != GPUAES_READY)
        return LOOK_AGAIN;
    return enough(c) > c->ahead.run ? enough(c) - c->ahead.run : 1;
}

/* Where the CPU's context is, as the counter of the block that the position is in. */
static int find_origin(const struct blocks_context *c, unsigned char origin[GPUAES_BLOCK],
                       unsigned *partial)
{
    if (!context_get_iv(c, origin) || !context_get_uint(c, OSSL_CIPHER_PARAM_NUM, partial) ||
        *partial >= GPUAES_BLOCK)
        return 0;
    if (*partial != 0) /* the counter is that of the next block already */
        subtract_one(origin);
    return 1;
}

static void begin(struct blocks_context *c)
{
    unsigned partial;
    unsigned flags = 0;
    const struct gpuaes_key *key = context_schedule(c);
    if (c->ahead.run >= ALLOCATE_AFTER || policy_is_forced(c->provider))
        flags = GPUAES_ALLOCATE;
    c->ahead.retry_after = flags == 0 ? ALLOCATE_AFTER : 2 * c->ahead.run;
    if (key == NULL || !find_origin(c, c->ahead.origin, &partial) ||
        gpuaes_keystream_open(&c->hot.keystream, key, c->ahead.origin, flags) != GPUAES_OK) {
        read_ahead_note_end(0);
        return;
    }
    gpuaes_keystream_skip(c->hot.keystream, partial);
    c->ahead.behind = c->ahead.useless = 0;
    c->ahead.partial = 0;
    c->ahead.turns = 0;
    c->ahead.sample_in = 0;
    c->ahead.checked_from = policy_floor(c->provider, WORK_CTR, c->cipher->key_bytes);
}

static void consider(struct blocks_context *c, uint64_t bytes)
{
    c->ahead.run += bytes;
    if (!is_possible(c))
        return;
    policy_when_ready(read_ahead_prepare);
    if (c->ahead.run < enough(c) || gpuaes_state() != GPUAES_READY)
        return;
    if (big_stack_needs_thread()) { /* handing each segment over would cost more than it gains */
        c->ahead.retry_after = c->ahead.run + RETRY_AFTER;
        return;
    }
    if (policy_is_forced(c->provider) || read_ahead_pays(c->cipher->key_bytes))
        begin(c);
    else
        c->ahead.retry_after = c->ahead.run + RETRY_AFTER;
}

static void forget_run(struct blocks_context *c)
{
    c->ahead.run = c->ahead.retry_after = 0;
}

static enum gpuaes_status call_close(void *keystream)
{
    gpuaes_keystream_close(keystream);
    return GPUAES_OK;
}

static int end(struct blocks_context *c)
{
    if (c->hot.keystream == NULL)
        return 1;
    int ok = sync_cpu(c);
    read_ahead_note_end(gpuaes_keystream_position(c->hot.keystream));
    (void)run_on_big_stack(call_close, c->hot.keystream, 0);
    c->hot.keystream = NULL;
    forget_run(c);
    return ok;
}

static int sync(struct blocks_context *c, int ends)
{
    int ok = ends ? end(c) : sync_cpu(c);
    if (ends)
        forget_run(c);
    return ok;
}

/* ---- Small updates of the process ------------------------------------------------------- */

static void count(const struct provider *provider, uint64_t bytes)
{
    static struct stream_detector stream;
    const struct settings *s = &provider->settings;
    if (!is_allowed(provider) || s->start != START_AUTO)
        return;
    if (gpuaes_state() != GPUAES_OFF)
        stream_detector_forget(&stream); /* after an idle release it counts anew */
    else if (stream_detector_add(&stream, clock_ns(CLOCK_MONOTONIC_COARSE), bytes, s->start_bytes))
        policy_start(provider);
}

/* ---- Updates --------------------------------------------------------------------------- */

static int report(struct blocks_context *c, int result, uint64_t bytes, size_t written,
                  int is_by_cpu)
{
    if (c->hot.keystream != NULL && result == DONE)
        note_done_by_cpu(c, written);
    else if (c->hot.keystream != NULL)
        return end(c) ? result : REFUSED;
    else if (!is_by_cpu || written > LARGEST_UPDATE)
        forget_run(c);
    else if (result == DONE)
        consider(c, bytes);
    return result;
}

/* What the keystream can do nothing for. */
static int is_other(const struct blocks_context *c, const struct request *r)
{
    const unsigned char *in = r->in, *out = r->out;
    size_t len = r->in_bytes;
    if (len - 1 >= LARGEST_UPDATE || r->outsize < len || in == NULL || out == NULL)
        return 1;
    if (in != out && in < out + len && out < in + len)
        return 1; /* the result depends on the order of bytes */
    if (len < c->ahead.checked_from)
        return 0;
    struct work work = {.in = in, .out = r->out, .len = len, .out_len = len};
    return !policy_rules_out_device_memory(&work);
}

/*
 * What is faster is seen by timing both on the same stream: once in so many segments the
 * CPU does an update; and of each segment one is timed that is not the first, which finds
 * nothing of it in a cache.
 */
enum { TRIAL_EVERY = 64, SAMPLE_IN = 3 };

/* Returns the bytes done with keystream that is made. */
static size_t use(struct blocks_context *c, struct request *r)
{
    size_t done = gpuaes_keystream_xor(c->hot.keystream, r->in, r->out, r->in_bytes);
    request_advance(r, done, done);
    if (done != 0)
        note_combined(c);
    return done;
}

/* As far as keystream is made; the driver is asked where it ends. */
static void combine(struct blocks_context *c, struct request *r)
{
    while (r->in_bytes != 0 && gpuaes_keystream_order(c->hot.keystream) && use(c, r) != 0)
        c->ahead.sample_in = SAMPLE_IN;
    statistics_tell();
}

/* The rest of a request. */
static int finish_on_cpu(struct blocks_context *c, struct request *r)
{
    size_t left = r->in_bytes, all = r->written + left;
    if (!sync_cpu(c))
        return 0;
    int observed = left >= READ_AHEAD_OBSERVED;
    int64_t begun = observed ? clock_ns(CLOCK_MONOTONIC) : 0;
    int ok = context_on_host(c, r, left) && r->written == all;
    if (observed)
        c->ahead.useless |=
            !read_ahead_observe(c->cipher->key_bytes, 1, left, clock_ns_since(begun));
    c->hot.countdown -= (int64_t)left;
    note_done_by_cpu(c, left);
    return ok;
}

/* Where keystream that is made ends. */
static int finish(struct blocks_context *c, struct request *r)
{
    int ok = 1, needs_thread = big_stack_needs_thread();
    if (!needs_thread && c->ahead.turns++ % TRIAL_EVERY != 0)
        combine(c, r);
    if (r->in_bytes != 0)
        ok = finish_on_cpu(c, r);
    int useless = c->ahead.useless && !policy_is_forced(c->provider);
    if (!ok || useless || needs_thread || !gpuaes_keystream_is_open(c->hot.keystream))
        ok = end(c) && ok;
    return ok;
}

static int update(struct blocks_context *c, struct request *r)
{
    if (is_other(c, r)) {
        if (!sync_cpu(c))
            return REFUSED;
        c->hot.countdown -= (int64_t)r->in_bytes;
        return DECLINED;
    }
    int sampled = c->ahead.sample_in != 0 && --c->ahead.sample_in == 0;
    int64_t begun = sampled ? clock_ns(CLOCK_MONOTONIC) : 0;
    size_t done = use(c, r);
    if (sampled)
        c->ahead.useless |=
            !read_ahead_observe(c->cipher->key_bytes, 0, done, clock_ns_since(begun));
    return r->in_bytes == 0 ? DONE : finish(c, r);
}

const struct read_ahead_door read_ahead = {.update = update,
                                           .report = report,
                                           .count = count,
                                           .distance = distance,
                                           .sync = sync,
                                           .copy = copy_position};
