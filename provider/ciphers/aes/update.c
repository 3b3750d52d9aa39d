/*
 * Which updates go to the device, and which stay on the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/update.h"

#include "provider/ciphers/aes/cuda_stream.h"
#include "provider/ciphers/aes/device_memory.h"
#include "provider/ciphers/aes/pipeline.h"
#include "provider/ciphers/aes/read_ahead.h"
#include "provider/ciphers/aes/segments.h"
#include "provider/policy/calibration.h"
#include "provider/policy/policy.h"

/* ---- Whether ----------------------------------------------------------------------- */

static enum policy_work work_of(const struct aes_context *c)
{
    return (enum policy_work)aes_op(c);
}

static int is_serial(const struct aes_context *c)
{
    return c->mode == AES_CBC && c->encrypting;
}

int aes_is_eligible(const struct aes_context *c)
{
    if (!c->has_key || c->tls || c->finished || is_serial(c) || (c->mode != AES_ECB && !c->has_iv))
        return 0;
    /* Turning the direction without giving the key again leaves the default
     * provider with the schedule of the other one: what it makes of it is its own. */
    return c->mode == AES_CTR || c->encrypting == c->key_encrypting;
}

uint64_t aes_add_to_totals(struct aes_context *c, size_t bytes)
{
    uint64_t counted = (uint64_t)(c->armed - c->countdown);
    c->totals.cpu_bytes[c->others] += counted - bytes;
    c->countdown = c->armed;
    return counted;
}

/* Why updates that do not take the long way are the CPU's. */
static enum cpu_reason find_others(const struct aes_context *c, size_t floor)
{
    if (c->tls || is_serial(c))
        return CPU_UNSUITED;
    return aes_is_eligible(c) && floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
}

void aes_update_thresholds(struct aes_context *c)
{
    (void)aes_add_to_totals(c, 0);
    /* Every pointer must be looked at, or every call refused. */
    if (c->device_memory || c->stream.lost || c->keystream != NULL || c->pipeline != NULL) {
        c->small = 0;
        c->armed = c->countdown = -1;
        return;
    }
    size_t floor = aes_is_eligible(c) ? policy_floor(c->provider) : SIZE_MAX;
    if (!c->finished)
        c->others = find_others(c, floor);
    if (c->stays_on_cpu && floor < POLICY_ASK_AGAIN && !policy_is_forced(c->provider))
        floor = POLICY_ASK_AGAIN;
    /* It takes no device to do updates under 1 KiB, and no figures. */
    c->small = policy_is_forced(c->provider) ? 0 : 1024;
    c->large = floor;
    uint64_t armed = aes_read_ahead_distance(c);
    if (armed > floor && c->stays_on_cpu)
        armed = floor;
    c->armed = c->countdown = armed > INT64_MAX ? INT64_MAX : (int64_t)armed - 1;
}

static int split_call(const struct aes_context *c, const struct call *call, struct split *split)
{
    size_t held, writes;
    return aes_measure(c, call, &held, &writes) && aes_make_split(c, call, held, split);
}

/*
 * The device, if it is chosen; DECLINED leaves the call to the CPU. `work` says why,
 * and whether to observe it.
 */
static int offer(struct aes_context *c, const struct call *call, struct work *work)
{
    struct split split;
    *work = (struct work){.kind = work_of(c),
                          .key_bytes = c->key_bytes,
                          .in = call->in,
                          .out = call->out,
                          .len = call->in_bytes,
                          .why = CPU_UNSUITED};
    enum policy_choice choice = aes_is_eligible(c) ? policy_choose(c->provider, work) : CHOICE_CPU;
    c->stays_on_cpu = choice == CHOICE_CPU && work->why == CPU_FASTER;
    if (choice == CHOICE_CPU)
        return DECLINED;
    if (choice == CHOICE_FAIL)
        return REFUSED;
    if (choice == CHOICE_GPU_ONLY)
        return aes_device_found(c, call);
    if (!split_call(c, call, &split)) {
        work->why = CPU_UNSUITED;
        work->cell = NULL;
        return DECLINED;
    }
    uint64_t failed = c->totals.cpu_bytes[CPU_FAILED];
    if (!aes_run_split(c, call, &split, 0))
        return REFUSED;
    if (c->totals.cpu_bytes[CPU_FAILED] == failed)
        policy_done(work, MODEL_GPU);
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

static int on_cpu(struct aes_context *c, const struct call *call, const struct work *work)
{
    if (!aes_on_cpu(c, call))
        return REFUSED;
    c->totals.cpu_bytes[work->why] += call->in_bytes;
    policy_done(work, MODEL_CPU);
    return DONE;
}

/* A piece on the CPU, then the rest: on the device, if that is ready by then. */
static int run_in_pieces(struct aes_context *c, const struct call *call, struct work *work)
{
    struct call rest = *call;
    size_t written, total = 0;
    rest.out_bytes = &written;
    for (;;) {
        struct call piece = rest;
        int cut = can_be_cut(c, &rest);
        int result = cut || rest.in == call->in ? DECLINED : offer(c, &rest, work);
        if (cut) {
            piece.in_bytes = PIECE_WHILE_STARTING;
            work->cell = NULL;
        }
        if (result == DECLINED)
            result = on_cpu(c, &piece, work);
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

/* Small updates gain by read-ahead, or not at all: policy_choose() counts the large ones. */
static void count_small_updates(const struct aes_context *c, size_t in_bytes, uint64_t bytes)
{
    uint64_t large = in_bytes >= MEASURE_FLOOR ? in_bytes : 0;
    if (bytes != large && c->mode == AES_CTR && policy_may_read_ahead(c->provider))
        policy_count_stream(c->provider, bytes - large);
}

int aes_update_call(struct aes_context *c, const struct call *call)
{
    struct work work;
    aes_count_own(c, call->in_bytes);
    if (!aes_pipeline_check(c))
        return REFUSED;
    int result = DECLINED;
    uint64_t bytes = aes_add_to_totals(c, call->in_bytes);
    count_small_updates(c, call->in_bytes, bytes);
    aes_update_thresholds(c);
    if (!aes_stream_check(c))
        return REFUSED;
    if (c->device_memory)
        result = aes_device_update(c, call);
    if (result == DECLINED)
        result = offer(c, call, &work);
    if (result != DECLINED) {
        aes_read_ahead_forget_run(c);
        return result;
    }
    result = run_in_pieces(c, call, &work);
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
