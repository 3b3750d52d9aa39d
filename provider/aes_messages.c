/*
 * Messages that share a launch, or do not.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "aes_messages.h"

#include <openssl/crypto.h>
#include <string.h>

#include "aes_read_ahead.h"
#include "aes_update.h"
#include "batch_pool.h"
#include "errors.h"
#include "offload.h"

static enum gpuaes_op op_of(const struct aes_context *c)
{
    return c->mode == AES_CBC && c->encrypting ? GPUAES_CBC_ENCRYPT : aes_op(c);
}

static int is_apart_or_in_place(const struct call *call)
{
    const unsigned char *in = call->in, *out = call->out;
    return in == out || out + call->in_bytes + GPUAES_BLOCK <= in || in + call->in_bytes <= out;
}

int aes_message_fits(const struct aes_message *m)
{
    const struct aes_context *c = m->context;
    return m->call.in_bytes >= GPUAES_BLOCK && m->call.in_bytes <= GPUAES_BATCH_PAGEABLE_BYTES &&
           m->call.in != NULL && m->call.out != NULL && c->keystream == NULL && !c->device_memory &&
           c->stream.queue == NULL && !c->stream.lost && aes_is_eligible_among_many(c) &&
           is_apart_or_in_place(&m->call);
}

/* ---- Whether ------------------------------------------------------------------------ */

static void describe(struct aes_flight *f)
{
    memset(&f->work, 0, sizeof f->work);
    f->batch = NULL;
    for (size_t i = 0; i < f->count; i++) {
        struct aes_message *m = f->messages[i];
        m->state = aes_message_fits(m) ? MESSAGE_WHOLE : MESSAGE_UNFIT;
        if (m->state == MESSAGE_UNFIT)
            continue;
        struct work work = {.kind = (enum engine_work)op_of(m->context),
                            .key_bytes = m->context->key_bytes,
                            .in = m->call.in,
                            .out = m->call.out,
                            .len = m->call.in_bytes};
        engine_messages_add(&f->work, &work);
    }
}

int aes_flight_is_possible(struct aes_flight *f)
{
    describe(f);
    return gpuaes_state() == GPUAES_READY;
}

int aes_flight_pays(struct aes_flight *f)
{
    describe(f);
    switch (engine_messages_choose(f->provider, &f->work)) {
    case CHOICE_GPU:
        return 1;
    case CHOICE_FAIL:
        return FLIGHT_REFUSED;
    default:
        return 0;
    }
}

void aes_flight_passed(const struct aes_flight *f)
{
    engine_messages_done(&f->work, MODEL_CPU);
}

/* ---- Begin --------------------------------------------------------------------------- */

static const unsigned char *middle_in(const struct aes_message *m)
{
    return m->call.in + m->split.head_in;
}

static unsigned char *middle_out(const struct aes_message *m)
{
    return m->call.out + m->split.head_out;
}

/* Brings the CPU's context to the middle; 0 where there is none for the device. */
static int cut(struct aes_message *m)
{
    struct aes_context *c = m->context;
    size_t held, writes;
    if (m->state != MESSAGE_WHOLE || !aes_measure(c, &m->call, &held, &writes) ||
        !aes_make_split(c, &m->call, held, &m->split))
        return 0;
    m->state = MESSAGE_SPOILT;
    if (!aes_do_head(c, &m->call, &m->split) || !aes_get_position(c, m->iv))
        return 0;
    if (op_of(c) == GPUAES_CBC_DECRYPT)
        memcpy(m->last, middle_in(m) + m->split.middle - GPUAES_BLOCK, sizeof m->last);
    m->state = MESSAGE_CUT;
    return 1;
}

static enum gpuaes_status add(struct gpuaes_batch *batch, const struct aes_message *m)
{
    struct gpuaes_message message = {.op = op_of(m->context),
                                     .key = m->context->key,
                                     .key_bytes = m->context->key_bytes,
                                     .iv = m->iv,
                                     .in = middle_in(m),
                                     .out = middle_out(m),
                                     .len = m->split.middle};
    return gpuaes_batch_add(batch, &message);
}

static void add_all(struct aes_flight *f)
{
    size_t number = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct aes_message *m = f->messages[i];
        if (!cut(m))
            continue;
        m->status = f->batch == NULL ? GPUAES_NO_MEMORY : add(f->batch, m);
        m->number = number;
        if (m->status == GPUAES_OK || m->status == GPUAES_BAD_ARGUMENT ||
            m->status == GPUAES_BAD_RANGE)
            number++;
        m->in_batch = m->status == GPUAES_OK;
    }
}

/* Each learns what became of it. */
static void land(struct aes_flight *f, enum gpuaes_status status)
{
    int begun = status == GPUAES_OK || status >= GPUAES_FAULT;
    for (size_t i = 0; i < f->count; i++) {
        struct aes_message *m = f->messages[i];
        if (m->state == MESSAGE_CUT && m->in_batch)
            m->status = begun ? gpuaes_batch_status(f->batch, m->number) : status;
    }
    batch_pool_give(f->batch);
    f->batch = NULL;
    if (status == GPUAES_OK)
        engine_messages_done(&f->work, MODEL_GPU);
    else
        engine_explain_failure(f->provider, status);
}

/* A device that was released since it was chosen, for want of work, is started again. */
static void start_again(unsigned flags)
{
    if ((flags & GPUAES_WAIT) != 0 && gpuaes_state() == GPUAES_OFF)
        (void)gpuaes_start(NULL, NULL, 1);
}

void aes_flight_begin(struct aes_flight *f)
{
    unsigned flags = engine_flags(f->provider);
    start_again(flags);
    f->batch = batch_pool_take();
    add_all(f);
    enum gpuaes_status status =
        f->batch == NULL ? GPUAES_NO_MEMORY : gpuaes_batch_submit(f->batch, flags);
    if (status != GPUAES_OK)
        land(f, status);
}

int aes_flight_is_over(struct aes_flight *f)
{
    enum gpuaes_status status = f->batch == NULL ? GPUAES_OK : gpuaes_batch_poll(f->batch);
    if (status == GPUAES_BUSY)
        return 0;
    if (f->batch != NULL)
        land(f, status);
    return 1;
}

void aes_flight_wait(struct aes_flight *f)
{
    if (f->batch != NULL)
        land(f, gpuaes_batch_wait(f->batch));
}

/* ---- The rest ----------------------------------------------------------------------- */

/* `why`: it was looked at, and left to the CPU. Who takes the long way says why by himself. */
static int update_alone(const struct aes_message *m, enum cpu_reason why)
{
    struct aes_context *c = m->context;
    aes_count_own(c, 0); /* now, as what is counted tells below */
    uint64_t folded = c->counted;
    int counts = m->call.in_bytes >= c->small && c->keystream == NULL;
    int ok = aes_update_alone(c, &m->call);
    if (ok && counts && c->counted == folded)
        c->cpu_bytes[why] += m->call.in_bytes;
    return ok;
}

/* Where the middle ends. */
static int move_on(struct aes_message *m)
{
    struct aes_context *c = m->context;
    switch (op_of(c)) {
    case GPUAES_CTR:
        aes_advance_counter(m->iv, m->split.middle / GPUAES_BLOCK);
        return aes_set_position(c, m->iv);
    case GPUAES_CBC_ENCRYPT:
        return aes_set_position(c, middle_out(m) + m->split.middle - GPUAES_BLOCK);
    case GPUAES_CBC_DECRYPT:
        return aes_set_position(c, m->last);
    default:
        return 1;
    }
}

static int do_middle(const struct aes_message *m)
{
    size_t written = 0;
    struct call middle = {.out = middle_out(m),
                          .out_bytes = &written,
                          .room = m->split.middle,
                          .in = middle_in(m),
                          .in_bytes = m->split.middle,
                          .oneshot = m->call.oneshot};
    return aes_on_cpu_released(m->context, &middle) && written == m->split.middle;
}

/* Both may have been overwritten, or may yet be. */
static int refuse(const struct aes_message *m)
{
    error_raise(m->context->provider,
                m->status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_OUTPUT_UNDEFINED,
                "after %zu of %zu bytes", m->split.head_in, m->call.in_bytes);
    return 0;
}

int aes_message_finish(struct aes_message *m)
{
    struct aes_context *c = m->context;
    if (m->state == MESSAGE_UNFIT || m->state == MESSAGE_WHOLE)
        return update_alone(m, CPU_UNSUITED);
    if (m->state == MESSAGE_SPOILT)
        return 0;
    if (m->status == GPUAES_UNDEFINED || m->status == GPUAES_BAD_RANGE)
        return refuse(m);
    if (!m->counted)
        c->countdown -= (int64_t)m->call.in_bytes;
    (void)aes_fold(c);
    aes_read_ahead_forget_run(c);
    if (m->status == GPUAES_OK)
        c->gpu += m->split.middle;
    else
        c->cpu_bytes[CPU_FAILED] += m->split.middle;
    return (m->status == GPUAES_OK ? move_on(m) : do_middle(m)) &&
           aes_do_tail(c, &m->call, &m->split);
}

/* ---- All of it ------------------------------------------------------------------------ */

static size_t sum_bytes(struct aes_message *const *messages, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += messages[i]->call.in_bytes;
    return bytes;
}

static void *fly(void *flight)
{
    aes_flight_begin(flight);
    aes_flight_wait(flight);
    return NULL;
}

int aes_messages_run(struct provider *provider, struct aes_message *const *messages, size_t count)
{
    struct aes_flight flight = {.provider = provider, .messages = messages, .count = count};
    int ok = 1, asks = sum_bytes(messages, count) >= engine_floor(provider);
    int pays = asks ? aes_flight_pays(&flight) : 0;
    if (pays == FLIGHT_REFUSED)
        return 0;
    if (pays)
        (void)offload_call(fly, &flight); /* where it cannot be called, all are as they were */
    for (size_t i = 0; i < count; i++)
        if (pays)
            ok &= aes_message_finish(messages[i]);
        else
            ok &= asks ? update_alone(messages[i], flight.work.why)
                       : aes_update_alone(messages[i]->context, &messages[i]->call);
    if (asks && !pays)
        aes_flight_passed(&flight);
    return ok;
}
