/*
 * Updates: which go to the device, and which stay on the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks_update.h"

#include "provider/ciphers/aes/device_memory.h"
#include "provider/ciphers/blocks/segments.h"
#include "provider/policy/calibration.h"

/* ---- Thresholds --------------------------------------------------------------------- */

/* Why updates that do not take the long way are the CPU's. */
static enum cpu_reason find_others(const struct aes_context *c, size_t floor)
{
    if (c->state.tls || aes_is_serial(c))
        return CPU_UNSUITED;
    return aes_is_eligible(c) && floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
}

static size_t find_floor(const struct aes_context *c)
{
    return policy_floor(c->provider, (enum policy_work)aes_op(c), c->cipher->key_bytes);
}

void aes_update_thresholds(struct aes_context *c)
{
    (void)aes_add_to_totals(c, 0);
    /* Every pointer must be looked at, or every call refused. */
    if (c->state.device_memory || c->stream.lost || c->hot.keystream != NULL) {
        c->hot.small = 0;
        c->hot.armed = c->hot.countdown = -1;
        return;
    }
    int is_forced = policy_is_forced(c->provider);
    size_t floor = aes_is_eligible(c) ? find_floor(c) : SIZE_MAX;
    if (!c->state.finished)
        c->others = find_others(c, floor);
    if (c->state.stays_on_cpu && floor < POLICY_ASK_AGAIN && !is_forced)
        floor = POLICY_ASK_AGAIN;
    /* It takes no device to do updates under 1 KiB, and no figures. */
    c->hot.small = is_forced ? 0 : 1024;
    c->hot.large = floor;
    uint64_t armed = aes_read_ahead_distance(c);
    if (armed > floor && c->state.stays_on_cpu)
        armed = floor;
    c->hot.armed = c->hot.countdown = armed > INT64_MAX ? INT64_MAX : (int64_t)armed - 1;
}

/* ---- Handlers ----------------------------------------------------------------------- */

/* The device, if it is chosen; else `work` says why not, and whether to observe the CPU. */
static int by_gpu(struct aes_context *c, struct request *r, struct work *work)
{
    work->in = r->in;
    work->out = r->out;
    work->len = work->out_len = r->in_bytes;
    work->why = CPU_UNSUITED;
    work->cell = NULL;
    enum policy_choice choice = aes_is_eligible(c) ? policy_choose(c->provider, work) : CHOICE_CPU;
    c->state.stays_on_cpu = choice == CHOICE_CPU && work->why == CPU_FASTER;
    if (choice == CHOICE_CPU)
        return DECLINED;
    if (choice == CHOICE_FAIL)
        return REFUSED;
    if (choice == CHOICE_GPU_ONLY)
        return aes_device_update(c, r, work);
    if (!aes_segment(c, r) || r->middle == 0) {
        work->why = CPU_UNSUITED;
        work->cell = NULL;
        return DECLINED;
    }
    uint64_t failed = c->totals.cpu_bytes[CPU_FAILED];
    if (!aes_run_segments(c, r, policy_flags(c->provider)))
        return REFUSED;
    if (c->totals.cpu_bytes[CPU_FAILED] == failed)
        policy_done(work, MODEL_GPU);
    return DONE;
}

/* While the device starts, the CPU takes a huge update in pieces of this size. */
enum { PIECE_WHILE_STARTING = 16 << 20 };

static int can_be_cut(const struct aes_context *c, struct request *r)
{
    return r->in_bytes >= 2 * (size_t)PIECE_WHILE_STARTING && gpuaes_state() == GPUAES_STARTING &&
           aes_is_eligible(c) && aes_segment(c, r) && r->middle != 0 && r->outsize >= r->writes;
}

/* DECLINED: a piece was done, and the device may be ready for the rest. */
static int by_cpu(struct aes_context *c, struct request *r, const struct work *work)
{
    int is_cut = can_be_cut(c, r);
    size_t bytes = is_cut ? PIECE_WHILE_STARTING : r->in_bytes;
    if (!aes_on_cpu(c, r, bytes))
        return REFUSED;
    c->totals.cpu_bytes[work->why] += bytes;
    if (is_cut)
        return DECLINED;
    policy_done(work, MODEL_CPU);
    return DONE;
}

/* Small updates gain by read-ahead, or not at all: policy_choose() counts the large ones. */
static void count_small_updates(const struct aes_context *c, size_t in_bytes, uint64_t bytes)
{
    uint64_t large = in_bytes >= MEASURE_FLOOR ? in_bytes : 0;
    if (bytes != large && (c->mode->flags & MODE_KEYSTREAM) != 0 &&
        policy_may_read_ahead(c->provider))
        policy_count_stream(c->provider, bytes - large);
}

/* Counts an update: *bytes are its own, and those of smaller ones since the last. Or REFUSED. */
static int count(struct aes_context *c, const struct request *r, uint64_t *bytes)
{
    aes_count_own(c, r->in_bytes);
    *bytes = aes_add_to_totals(c, r->in_bytes);
    count_small_updates(c, r->in_bytes, *bytes);
    aes_update_thresholds(c);
    return aes_stream_check(c) ? DECLINED : REFUSED;
}

/* ---- The way ------------------------------------------------------------------------ */

/*
 * Offers an update to one handler after the other, until one does not decline. By itself: inlined,
 * it would give what counts updates its stack frame.
 */
__attribute__((noinline)) static int offer(struct aes_context *c, struct request *r)
{
    struct work work = {.kind = (enum policy_work)aes_op(c), .key_bytes = c->cipher->key_bytes};
    uint64_t bytes = 0;
    int is_cpus = 0, result = count(c, r, &bytes);
    if (result == DECLINED && c->state.device_memory)
        result = aes_device_update(c, r, &work);
    while (result == DECLINED && (result = by_gpu(c, r, &work)) == DECLINED) {
        is_cpus = 1;
        result = by_cpu(c, r, &work);
    }
    return aes_read_ahead_note(c, result, bytes, r->written, is_cpus);
}

/* By read-ahead, or the long way. */
__attribute__((noinline)) static int long_update(struct aes_context *c, unsigned char *out,
                                                 size_t *out_bytes, size_t outsize,
                                                 const unsigned char *in, size_t in_bytes,
                                                 int oneshot)
{
    const struct gpuaes_keystream *keystream = c->hot.keystream;
    struct request r = {
        .in = in, .in_bytes = in_bytes, .out = out, .outsize = outsize, .oneshot = oneshot};
    int result = keystream != NULL ? aes_read_ahead_update(c, &r) : DECLINED;
    if (result == DECLINED)
        result = offer(c, &r);
    if (c->hot.keystream != keystream)
        aes_update_thresholds(c);
    if (result == DONE)
        *out_bytes = r.written;
    return result == DONE;
}

/* From 1 KiB on, where that does not show, updates are counted. By itself, as the others. */
__attribute__((noinline)) static int counted_update(struct aes_context *c, unsigned char *out,
                                                    size_t *out_bytes, size_t outsize,
                                                    const unsigned char *in, size_t in_bytes,
                                                    int oneshot)
{
    if (c->hot.keystream == NULL) {
        c->hot.countdown -= (int64_t)in_bytes;
        if (c->hot.countdown >= 0 && in_bytes < c->hot.large)
            return (oneshot ? c->hot.cpu_cipher : c->hot.cpu_update)(c->hot.cpu, out, out_bytes,
                                                                     outsize, in, in_bytes);
    }
    return long_update(c, out, out_bytes, outsize, in, in_bytes, oneshot);
}

/*
 * The hot path: a compare, and a jump into the default provider. One block takes
 * that 40 cycles in all, so every instruction here shows; hence also the
 * alignment to a line of the instruction cache.
 */
#define HOT __attribute__((hot, aligned(64)))

HOT int aes_update(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                   const unsigned char *in, size_t in_bytes)
{
    struct aes_context *c = context;
    if (__builtin_expect(in_bytes >= c->hot.small, 0))
        return counted_update(c, out, out_bytes, outsize, in, in_bytes, 0);
    return c->hot.cpu_update(c->hot.cpu, out, out_bytes, outsize, in, in_bytes);
}

HOT int aes_cipher(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                   const unsigned char *in, size_t in_bytes)
{
    struct aes_context *c = context;
    if (__builtin_expect(in_bytes >= c->hot.small, 0))
        return counted_update(c, out, out_bytes, outsize, in, in_bytes, 1);
    return c->hot.cpu_cipher(c->hot.cpu, out, out_bytes, outsize, in, in_bytes);
}
