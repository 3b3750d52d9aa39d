/*
 * An update in three parts: a head and a tail for the CPU, whole blocks in the
 * middle for the device.
 *
 * The CPU's context stays the keeper of the state. The head brings it to a
 * block boundary with nothing held back; its IV then is where the device
 * begins; afterwards it is given the IV where the device ended.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "aes_update.h"

#include <openssl/async.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "engine.h"
#include "engine_measure.h"
#include "errors.h"

/* One call of update() or cipher(). */
struct call {
    unsigned char *out;
    size_t *out_bytes;
    size_t room;
    const unsigned char *in;
    size_t in_bytes;
    int oneshot;
};

/* How it is split. Every count is of bytes. */
struct split {
    size_t head_in, head_out;
    size_t middle;
    size_t tail_in, tail_out;
    unsigned padding; /* as the CPU's context has it; none in CTR */
};

static int on_cpu(struct aes_context *c, const struct call *call)
{
    OSSL_FUNC_cipher_update_fn *function = call->oneshot ? c->cpu_cipher : c->cpu_update;
    return function(c->cpu, call->out, call->out_bytes, call->room, call->in, call->in_bytes);
}

/* ---- Whether, and where to cut ----------------------------------------------------- */

static enum engine_work work_of(const struct aes_context *c)
{
    if (c->mode == AES_CTR)
        return WORK_CTR;
    if (c->mode == AES_CBC)
        return WORK_CBC_DECRYPT;
    return c->encrypting ? WORK_ECB_ENCRYPT : WORK_ECB_DECRYPT;
}

/* The context is in a state that the device can take over. */
static int is_eligible(const struct aes_context *c)
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
    size_t floor = is_eligible(c) ? engine_floor(c->provider, work_of(c), c->key_bytes) : SIZE_MAX;
    /* It takes no device to do updates under 1 KiB, and no figures. */
    c->small = engine_is_forced(c->provider) ? 0 : 1024;
    c->armed = c->countdown = floor > INT64_MAX ? INT64_MAX : (int64_t)floor - 1;
}

static int get_uint(const struct aes_context *c, const char *name, unsigned *value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, value), OSSL_PARAM_construct_end()};
    return c->functions->get_ctx_params(c->cpu, params);
}

static int set_uint(const struct cpu_cipher *functions, void *cpu, const char *name, unsigned value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_construct_end()};
    return functions->set_ctx_params(cpu, params);
}

static int split_ctr(const struct aes_context *c, const struct call *call, struct split *s)
{
    unsigned position; /* within a keystream block */
    if (!get_uint(c, OSSL_CIPHER_PARAM_NUM, &position) || position >= GPUAES_BLOCK)
        return 0;
    s->head_in = s->head_out = (GPUAES_BLOCK - position) % GPUAES_BLOCK;
    if (call->in_bytes < s->head_in || call->room < call->in_bytes)
        return 0;
    s->middle = (call->in_bytes - s->head_in) / GPUAES_BLOCK * GPUAES_BLOCK;
    s->tail_in = s->tail_out = call->in_bytes - s->head_in - s->middle;
    return 1;
}

/*
 * How many bytes a context holds back: it is fed until it gives a block. It is
 * a copy that was told to hold nothing back, which shows a whole block at once.
 */
static int feed_until_block(const struct aes_context *c, void *copy, size_t *held)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    unsigned char block[2 * GPUAES_BLOCK];
    size_t written = 0, fed = 0;
    int ok = set_uint(c->functions, copy, OSSL_CIPHER_PARAM_PADDING, 0) &&
             c->cpu_update(copy, block, &written, sizeof block, zeros, 0);
    *held = GPUAES_BLOCK;
    while (ok && written == 0 && fed < GPUAES_BLOCK) {
        ok = c->cpu_update(copy, block, &written, sizeof block, zeros, 1);
        *held = GPUAES_BLOCK - ++fed;
    }
    OPENSSL_cleanse(block, sizeof block);
    return ok && written != 0;
}

static int find_held(const struct aes_context *c, size_t *held)
{
    void *copy = c->functions->dupctx(c->cpu);
    int ok = copy != NULL && feed_until_block(c, copy, held);
    if (copy != NULL)
        c->functions->freectx(copy);
    return ok;
}

static int split_blocks(const struct aes_context *c, const struct call *call, struct split *s)
{
    size_t held;
    if (!get_uint(c, OSSL_CIPHER_PARAM_PADDING, &s->padding) || !find_held(c, &held))
        return 0;
    if (call->oneshot) {
        /* Passes by the buffer, which setting the IV would empty. */
        s->middle = call->in_bytes;
        return held == 0 && call->in_bytes % GPUAES_BLOCK == 0 && call->room >= call->in_bytes;
    }
    s->head_in = (GPUAES_BLOCK - held) % GPUAES_BLOCK;
    s->head_out = held != 0 ? GPUAES_BLOCK : 0;
    if (call->in_bytes <= s->head_in)
        return 0;
    /* A padded decryption keeps the last block until it knows that it is not the end. */
    size_t rest = call->in_bytes - s->head_in;
    int holds_back = !c->encrypting && s->padding;
    s->middle = (holds_back ? rest - 1 : rest) / GPUAES_BLOCK * GPUAES_BLOCK;
    s->tail_in = rest - s->middle;
    return call->room >= s->head_out + s->middle;
}

/*
 * In place, or apart. With any other overlap the result depends on the order
 * in which bytes are written: that is left to the CPU.
 */
static int has_safe_overlap(const struct call *call, const struct split *s)
{
    const unsigned char *in = call->in, *out = call->out;
    size_t out_bytes = s->head_out + s->middle + s->tail_out;
    if (in + s->head_in == out + s->head_out)
        return 1;
    return out + out_bytes <= in || in + call->in_bytes <= out;
}

static int make_split(const struct aes_context *c, const struct call *call, struct split *s)
{
    memset(s, 0, sizeof *s);
    if (call->in == NULL || call->out == NULL)
        return 0;
    int ok = c->mode == AES_CTR ? split_ctr(c, call, s) : split_blocks(c, call, s);
    return ok && s->middle != 0 && has_safe_overlap(call, s);
}

/* ---- The CPU's context -------------------------------------------------------------- */

/* Brings the CPU's context to a block boundary with nothing held back. */
static int do_head(struct aes_context *c, const struct call *call, const struct split *s)
{
    size_t written = 0;
    if (s->head_in == 0 && s->head_out == 0)
        return 1;
    int release = !c->encrypting && s->padding;
    if (release && !set_uint(c->functions, c->cpu, OSSL_CIPHER_PARAM_PADDING, 0))
        return 0;
    int ok = c->cpu_update(c->cpu, call->out, &written, call->room, call->in, s->head_in) &&
             written == s->head_out;
    if (release)
        ok = set_uint(c->functions, c->cpu, OSSL_CIPHER_PARAM_PADDING, s->padding) && ok;
    return ok;
}

static int get_position(struct aes_context *c, unsigned char iv[GPUAES_BLOCK])
{
    if (c->mode == AES_ECB)
        return 1;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, iv, GPUAES_BLOCK),
        OSSL_PARAM_construct_end()};
    return c->functions->get_ctx_params(c->cpu, params);
}

/* `num` means nothing in CBC, but what was set must be read back. */
static int set_position(struct aes_context *c, const unsigned char iv[GPUAES_BLOCK])
{
    unsigned num = 0;
    if (c->mode == AES_ECB)
        return 1;
    if (c->mode == AES_CBC && !get_uint(c, OSSL_CIPHER_PARAM_NUM, &num))
        return 0;
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        c->encrypting ? c->functions->encrypt_init : c->functions->decrypt_init;
    c->moved = 1;
    if (!init(c->cpu, NULL, 0, iv, GPUAES_BLOCK, NULL))
        return 0;
    return num == 0 || set_uint(c->functions, c->cpu, OSSL_CIPHER_PARAM_NUM, num);
}

/* ---- The device ------------------------------------------------------------------------ */

struct offload {
    enum gpuaes_op op;
    const struct gpuaes_key *key;
    unsigned char *iv;
    const unsigned char *in;
    unsigned char *out;
    size_t bytes;
    unsigned flags;
    size_t done;
    enum gpuaes_status status;
};

static void *run_offload(void *arg)
{
    struct offload *o = arg;
    o->status = gpuaes_aes(o->op, o->key, o->iv, o->in, o->out, o->bytes, o->flags, &o->done);
    /* It was ready when it was chosen: an idle device has just been released. */
    if (o->status == GPUAES_NOT_READY && (o->flags & GPUAES_WAIT) != 0 &&
        gpuaes_start(NULL, NULL, 1) == GPUAES_READY)
        o->status = gpuaes_aes(o->op, o->key, o->iv, o->in, o->out, o->bytes, o->flags, &o->done);
    return NULL;
}

/*
 * An ASYNC job has a stack of 32 KiB, too little for the driver: there, a
 * thread of our own makes the call and the job waits for it.
 */
static void run_on_thread(struct offload *o)
{
    sigset_t all, before;
    pthread_t thread;
    int cancel_state; /* the thread works on our stack */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&thread, NULL, run_offload, o);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        (void)pthread_join(thread, NULL);
    else
        o->status = GPUAES_BUSY;
    (void)pthread_setcancelstate(cancel_state, NULL);
}

static enum gpuaes_status run_middle(struct aes_context *c, const struct call *call,
                                     const struct split *s, int gpu_only,
                                     unsigned char iv[GPUAES_BLOCK], size_t *done)
{
    if (!c->expanded && !gpuaes_key_expand(&c->schedule, c->key, c->key_bytes))
        return GPUAES_BAD_ARGUMENT;
    c->expanded = 1;
    struct offload o = {.op = (enum gpuaes_op)work_of(c),
                        .key = &c->schedule,
                        .iv = iv,
                        .in = call->in + s->head_in,
                        .out = call->out + s->head_out,
                        .bytes = s->middle,
                        .flags = gpu_only ? GPUAES_WAIT : engine_flags(c->provider)};
    if (ASYNC_get_current_job() != NULL)
        run_on_thread(&o);
    else
        (void)run_offload(&o);
    *done = o.done;
    if (o.status != GPUAES_OK)
        engine_explain_failure(c->provider, o.status);
    return o.status;
}

/* The device first, then the CPU for what is left of the middle, and the tail. */
static int do_middle_and_tail(struct aes_context *c, const struct call *call, const struct split *s,
                              int gpu_only)
{
    unsigned char iv[GPUAES_BLOCK] = {0};
    size_t done = 0, written = 0;
    if (!get_position(c, iv))
        return 0;
    enum gpuaes_status status = run_middle(c, call, s, gpu_only, iv, &done);
    c->gpu += done;
    if (status == GPUAES_UNDEFINED || status == GPUAES_BAD_RANGE) {
        error_raise(c->provider,
                    status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_OUTPUT_UNDEFINED,
                    "after %zu of %zu bytes", s->head_in + done, call->in_bytes);
        return 0;
    }
    if (done != 0 && !set_position(c, iv))
        return 0;
    if (gpu_only && done != s->middle) {
        error_raise(c->provider, ERROR_DEVICE_MEMORY, "%s, after %zu of %zu bytes",
                    gpuaes_status_text(status), done, call->in_bytes);
        return 0;
    }
    size_t in_at = s->head_in + done, out_at = s->head_out + done;
    if (in_at == call->in_bytes) {
        *call->out_bytes = out_at;
        return 1;
    }
    struct call rest = {call->out + out_at,     &written,     call->room - out_at, call->in + in_at,
                        call->in_bytes - in_at, call->oneshot};
    if (!on_cpu(c, &rest))
        return 0;
    *call->out_bytes = out_at + written;
    return 1;
}

/* The CPU's part of the choice: what it takes for large work is remembered. */
static int on_cpu_observed(struct aes_context *c, const struct call *call)
{
    struct work work = {work_of(c), c->key_bytes, call->in, call->out, call->in_bytes, 0};
    if (!engine_observes(&work) || !is_eligible(c))
        return on_cpu(c, call);
    double begun = measure_now_ns();
    int ok = on_cpu(c, call);
    if (ok)
        engine_observe(&work, 0, measure_now_ns() - begun);
    return ok;
}

/* The device, if it is chosen; DECLINED leaves the call to the CPU. */
enum { REFUSED = 0, DONE = 1, DECLINED = -1 };

static int offer(struct aes_context *c, const struct call *call)
{
    struct split split;
    struct work work = {.kind = work_of(c), .key_bytes = c->key_bytes, .len = call->in_bytes};
    if (!is_eligible(c) || !engine_considers(c->provider, &work) || !make_split(c, call, &split))
        return DECLINED;
    work.in = call->in + split.head_in;
    work.out = call->out + split.head_out;
    work.len = split.middle;
    enum engine_choice choice = engine_choose(c->provider, &work);
    if (choice == CHOICE_CPU)
        return DECLINED;
    if (choice == CHOICE_FAIL)
        return REFUSED;
    if (choice == CHOICE_GPU_ONLY && (split.middle != call->in_bytes || split.head_out != 0)) {
        error_raise(c->provider, ERROR_DEVICE_MEMORY,
                    "an update of %zu bytes at this point is not one of whole blocks",
                    call->in_bytes);
        return REFUSED;
    }
    double begun = engine_observes(&work) ? measure_now_ns() : 0;
    if (!do_head(c, call, &split) ||
        !do_middle_and_tail(c, call, &split, choice == CHOICE_GPU_ONLY))
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
           is_eligible(c) && make_split(c, call, &split) &&
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

static int run_call(struct aes_context *c, const struct call *call)
{
    engine_count(c->provider, aes_fold(c));
    aes_rearm(c);
    int result = offer(c, call);
    return result == DECLINED ? run_in_pieces(c, call) : result;
}

int aes_update_large(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room, const unsigned char *in, size_t in_bytes)
{
    struct call call = {out, out_bytes, room, in, in_bytes, 0};
    return run_call(context, &call);
}

int aes_cipher_large(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room, const unsigned char *in, size_t in_bytes)
{
    struct call call = {out, out_bytes, room, in, in_bytes, 1};
    return run_call(context, &call);
}
