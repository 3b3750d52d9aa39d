/*
 * Which updates go to the device, and which stay on the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "aes_update.h"

#include "aes_device.h"
#include "aes_read_ahead.h"
#include "aes_split.h"
#include "aes_stream.h"
#include "engine.h"
#include "engine_measure.h"

/* ---- Whether ----------------------------------------------------------------------- */

static enum engine_work work_of(const struct aes_context *c)
{
    return (enum engine_work)aes_op(c);
}

int aes_is_eligible(const struct aes_context *c)
{
    if (!c->has_key || c->tls || c->finished || (c->mode != AES_ECB && !c->has_iv))
        return 0;
    if (c->mode == AES_CTR)
        return 1;
    /* Turning the direction without giving the key again leaves the default
     * provider with the schedule of the other one: what it makes of it is its own. */
    if (c->encrypting != c->key_encrypting)
        return 0;
    return c->mode == AES_ECB || !c->encrypting; /* CBC encryption is serial */
}

uint64_t aes_fold(struct aes_context *c)
{
    uint64_t bytes = (uint64_t)(c->armed - c->countdown);
    c->counted += bytes;
    c->countdown = c->armed;
    return bytes;
}

void aes_rearm(struct aes_context *c)
{
    (void)aes_fold(c);
    /* Every pointer must be looked at, or every call refused. */
    if (c->device_memory || c->stream.lost || c->keystream != NULL) {
        c->small = 0;
        c->armed = c->countdown = -1;
        return;
    }
    size_t floor =
        aes_is_eligible(c) ? engine_floor(c->provider, work_of(c), c->key_bytes) : SIZE_MAX;
    /* It takes no device to do updates under 1 KiB, and no figures. */
    c->small = engine_is_forced(c->provider) ? 0 : 1024;
    uint64_t armed = aes_read_ahead_distance(c);
    if (armed > floor)
        armed = floor;
    c->armed = c->countdown = armed > INT64_MAX ? INT64_MAX : (int64_t)armed - 1;
}

/* The CPU's part of the choice: what it takes for large work is remembered. */
static int on_cpu_observed(struct aes_context *c, const struct call *call)
{
    struct work work = {work_of(c), c->key_bytes, call->in, call->out, call->in_bytes, 0};
    if (!engine_observes(&work) || !aes_is_eligible(c))
        return aes_on_cpu(c, call);
    double begun = measure_now_ns();
    int ok = aes_on_cpu(c, call);
    if (ok)
        engine_observe(&work, 0, measure_now_ns() - begun);
    return ok;
}

static int split_call(const struct aes_context *c, const struct call *call, struct split *split)
{
    size_t held, writes;
    return aes_measure(c, call, &held, &writes) && aes_make_split(c, call, held, split);
}

/* The device, if it is chosen; DECLINED leaves the call to the CPU. */
static int offer(struct aes_context *c, const struct call *call)
{
    struct split split;
    struct work work = {.kind = work_of(c),
                        .key_bytes = c->key_bytes,
                        .in = call->in,
                        .out = call->out,
                        .len = call->in_bytes};
    if (!aes_is_eligible(c) || !engine_considers(c->provider, &work))
        return DECLINED;
    if (!split_call(c, call, &split))
        return engine_finds_device_memory(&work) ? aes_device_found(c, call) : DECLINED;
    work.in = call->in + split.head_in;
    work.out = call->out + split.head_out;
    work.len = split.middle;
    enum engine_choice choice = engine_choose(c->provider, &work);
    if (choice == CHOICE_CPU)
        return DECLINED;
    if (choice == CHOICE_FAIL)
        return REFUSED;
    if (choice == CHOICE_GPU_ONLY)
        return aes_device_found(c, call);
    double begun = engine_observes(&work) ? measure_now_ns() : 0;
    if (!aes_run_split(c, call, &split, 0))
        return REFUSED;
    if (engine_observes(&work))
        engine_observe(&work, 1, measure_now_ns() - begun);
    return DONE;
}

/* While the device starts, the CPU takes a huge update in pieces of this size. */
enum { PIECE_WHILE_STARTING = 16 << 20 };

static int can_be_cut(const struct aes_context *c, const struct call *call)
{
    struct split split;
    return call->in_bytes >= 2 * PIECE_WHILE_STARTING && gpuaes_state() == GPUAES_STARTING &&
           aes_is_eligible(c) && split_call(c, call, &split) &&
           call->room >= split.head_out + split.middle + split.tail_out;
}

/* A piece on the CPU, then the rest: on the device, if that is ready by then. */
static int run_in_pieces(struct aes_context *c, const struct call *call)
{
    struct call rest = *call;
    size_t written, total = 0;
    rest.out_bytes = &written;
    for (;;) {
        struct call piece = rest;
        int cut = can_be_cut(c, &rest);
        int result = cut || rest.in == call->in ? DECLINED : offer(c, &rest);
        if (cut)
            piece.in_bytes = PIECE_WHILE_STARTING;
        if (result == DECLINED)
            result = on_cpu_observed(c, &piece);
        if (result != DONE)
            return REFUSED;
        total += written;
        if (!cut) {
            *call->out_bytes = total;
            return DONE;
        }
        rest.in += piece.in_bytes;
        rest.in_bytes -= piece.in_bytes;
        rest.out += written;
        rest.room -= written;
    }
}

int aes_update_call(struct aes_context *c, const struct call *call)
{
    uint64_t bytes = aes_fold(c);
    engine_count(c->provider, bytes);
    aes_rearm(c);
    if (!aes_stream_check(c))
        return REFUSED;
    int result = c->device_memory ? aes_device_update(c, call) : DECLINED;
    if (result == DECLINED)
        result = offer(c, call);
    if (result != DECLINED) {
        aes_read_ahead_forget_run(c);
        return result;
    }
    result = run_in_pieces(c, call);
    if (result == DONE)
        aes_read_ahead_consider(c, bytes);
    return result;
}

int aes_update_large(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room, const unsigned char *in, size_t in_bytes)
{
    struct call call = {
        .out = out, .out_bytes = out_bytes, .room = room, .in = in, .in_bytes = in_bytes};
    return aes_update_call(context, &call);
}

int aes_cipher_large(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room, const unsigned char *in, size_t in_bytes)
{
    struct call call = {.out = out,
                        .out_bytes = out_bytes,
                        .room = room,
                        .in = in,
                        .in_bytes = in_bytes,
                        .oneshot = 1};
    return aes_update_call(context, &call);
}
