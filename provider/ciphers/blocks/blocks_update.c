/*
 * Updates: which go to the device, and which stay on the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks_update.h"

#include "provider/ciphers/blocks/blocks_cpu.h"
#include "provider/ciphers/blocks/blocks_device.h"
#include "provider/ciphers/blocks/segments.h"
#include "provider/common/errors.h"
#include "provider/policy/calibration.h"

/* ---- By whom ----------------------------------------------------------------------- */

/* Asks who does what is left of an update. For the CPU, `work` says why, and whether to observe it.
 */
static enum policy_choice choose(struct blocks_context *c, struct request *r, struct work *work)
{
    work->in = r->in;
    work->out = r->out;
    work->len = work->out_len = r->in_bytes;
    work->why = CPU_UNSUITED;
    work->cell = NULL;
    enum policy_choice choice =
        context_is_eligible(c) ? policy_choose(c->provider, work) : CHOICE_CPU;
    c->state.stays_on_cpu = choice == CHOICE_CPU && work->why == CPU_FASTER;
    if (choice != CHOICE_GPU || (segments_cut(c, r) && r->middle != 0))
        return choice;
    work->why = CPU_UNSUITED;
    work->cell = NULL;
    return CHOICE_CPU;
}

/* While the device starts, the CPU takes a huge update in pieces of this size. */
enum { PIECE_WHILE_STARTING = 16 << 20 };

static int can_be_cut(const struct blocks_context *c, struct request *r)
{
    return r->in_bytes >= 2 * (size_t)PIECE_WHILE_STARTING && gpuaes_state() == GPUAES_STARTING &&
           context_is_eligible(c) && segments_cut(c, r) && r->middle != 0 &&
           r->outsize >= r->writes;
}

/* DECLINED: a piece was done, and the device may be ready for the rest. */
static int by_cpu(struct blocks_context *c, struct request *r, const struct work *work)
{
    int is_cut = can_be_cut(c, r);
    size_t bytes = is_cut ? PIECE_WHILE_STARTING : r->in_bytes;
    if (!blocks_on_cpu(c, r, bytes))
        return REFUSED;
    c->totals.cpu_bytes[work->why] += bytes;
    if (is_cut)
        return DECLINED;
    policy_done(work, MODEL_CPU);
    return DONE;
}

/*
 * Counts an update: *bytes are its own, and those of smaller ones since the last. Small updates
 * gain by read-ahead, or not at all: policy_choose() counts the large ones. Or REFUSED.
 */
static int count(struct blocks_context *c, const struct request *r, uint64_t *bytes)
{
    uint64_t large = r->in_bytes >= MEASURE_FLOOR ? r->in_bytes : 0;
    context_forget_parent(c, r->in_bytes);
    *bytes = context_count(c, r->in_bytes);
    if (*bytes != large && c->cipher->read_ahead != NULL)
        c->cipher->read_ahead->count(c->provider, *bytes - large);
    context_set_thresholds(c);
    return blocks_stream_check(c) ? DECLINED : REFUSED;
}

/* ---- The way ------------------------------------------------------------------------ */

/* What no CPU can do: one side is in device memory. Where the other is NULL, nobody can. */
static int by_device_alone(struct blocks_context *c, struct request *r, struct work *work)
{
    if (r->in != NULL && r->out != NULL)
        return blocks_device_update(c, r, work);
    error_raise(c->provider, ERROR_BAD_PARAMETER, "%s is NULL, and %s is in device memory",
                r->in == NULL ? "input" : "output", r->in == NULL ? "output" : "input");
    return REFUSED;
}

/* Without keystream made ahead. By itself: inlined, it would give updates with it its stack frame.
 */
__attribute__((noinline)) static int choose_and_run(struct blocks_context *c, struct request *r)
{
    const struct read_ahead_door *ahead = c->cipher->read_ahead;
    struct work work = {.kind = (enum policy_work)context_op(c), .key_bytes = c->cipher->key_bytes};
    uint64_t bytes = 0;
    int is_by_cpu = 0, result = count(c, r, &bytes);
    if (result == DECLINED && c->state.device_memory)
        result = blocks_device_update(c, r, &work);
    while (result == DECLINED)
        switch (choose(c, r, &work)) {
        case CHOICE_CPU:
            is_by_cpu = 1;
            result = by_cpu(c, r, &work);
            break;
        case CHOICE_GPU:
            result = segments_run(c, r, &work, policy_flags(c->provider));
            break;
        case CHOICE_GPU_ONLY:
            result = by_device_alone(c, r, &work);
            break;
        case CHOICE_FAIL:
            result = REFUSED;
            break;
        }
    /* An initialisation with a tweak alone does not hand on what was counted. */
    if ((c->cipher->flags & CIPHER_UNITS) != 0 && bytes >= MEASURE_FLOOR)
        totals_flush(&c->totals);
    return ahead != NULL ? ahead->report(c, result, bytes, r->written, is_by_cpu) : result;
}

/* By itself: inlined, it would give small updates its stack frame. */
__attribute__((noinline)) static int long_update(struct blocks_context *c, unsigned char *out,
                                                 size_t *out_bytes, size_t outsize,
                                                 const unsigned char *in, size_t in_bytes,
                                                 int oneshot)
{
    const struct gpuaes_keystream *keystream = c->hot.keystream;
    struct request r = {
        .in = in, .in_bytes = in_bytes, .out = out, .outsize = outsize, .oneshot = oneshot};
    int result = keystream != NULL ? c->cipher->read_ahead->update(c, &r) : DECLINED;
    if (result == DECLINED)
        result = choose_and_run(c, &r);
    if (c->hot.keystream != keystream)
        context_set_thresholds(c);
    if (result == DONE)
        *out_bytes = r.written;
    return result == DONE;
}

/* From 1 KiB on, where that does not show, updates are counted. Returns 1 if the CPU does this one.
 */
static inline int is_below_thresholds(struct blocks_context *c, size_t in_bytes)
{
    if (c->hot.keystream != NULL)
        return 0;
    c->hot.countdown -= (int64_t)in_bytes;
    return c->hot.countdown >= 0 && in_bytes < c->hot.large;
}

/*
 * The hot path: a compare, and a jump into the default provider. One block takes
 * that 40 cycles in all, so every instruction here shows; hence also the
 * alignment to a line of the instruction cache.
 */
HOT int blocks_update(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                      const unsigned char *in, size_t in_bytes)
{
    struct blocks_context *c = context;
    if (__builtin_expect(in_bytes >= c->hot.small, 0) && !is_below_thresholds(c, in_bytes))
        return long_update(c, out, out_bytes, outsize, in, in_bytes, 0);
    return c->hot.cpu_update(c->hot.cpu, out, out_bytes, outsize, in, in_bytes);
}

HOT int blocks_cipher(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                      const unsigned char *in, size_t in_bytes)
{
    struct blocks_context *c = context;
    if (__builtin_expect(in_bytes >= c->hot.small, 0) && !is_below_thresholds(c, in_bytes))
        return long_update(c, out, out_bytes, outsize, in, in_bytes, 1);
    return c->hot.cpu_cipher(c->hot.cpu, out, out_bytes, outsize, in, in_bytes);
}
