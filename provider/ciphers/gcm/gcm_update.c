/*
 * Updates, and which side they make a message belong to.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_update.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/gcm.h"
#include "provider/ciphers/gcm/gcm_cpu.h"
#include "provider/ciphers/gcm/gcm_message.h"
#include "provider/ciphers/gcm/gcm_stream.h"
#include "provider/common/errors.h"

/* One call of update() or cipher(), which begin with the same parameters. */
struct gcm_request {
    OSSL_FUNC_cipher_update_fn *cpu_function;
    unsigned char *out;
    size_t *out_bytes, outsize;
    const unsigned char *in;
    size_t in_bytes;
};

static int on_cpu(struct gcm_context *c, const struct gcm_request *r)
{
    return r->cpu_function(c->cpu, r->out, r->out_bytes, r->outsize, r->in, r->in_bytes);
}

/* ---- Memory ------------------------------------------------------------------------------ */

/* In place or out of place; else the result depends on the order in which bytes are written. */
static int is_safe(const struct gcm_request *r)
{
    return r->in == r->out || r->out + r->in_bytes <= r->in || r->in + r->in_bytes <= r->out;
}

/* ---- Additional data --------------------------------------------------------------------- */

/* In device memory: all of it comes to the CPU before any is hashed, so that it can be repeated. */
static int add_from_device(struct gcm_context *c, const struct gcm_request *r)
{
    unsigned char *memory = OPENSSL_malloc(r->in_bytes);
    int ok = memory != NULL && device_copy(c->provider, memory, r->in, r->in_bytes) &&
             r->cpu_function(c->cpu, NULL, r->out_bytes, r->outsize, memory, r->in_bytes);
    if (ok)
        gcm_keep_aad(c, memory, r->in_bytes);
    OPENSSL_free(memory);
    return ok;
}

static int add_aad(struct gcm_context *c, const struct gcm_request *r)
{
    struct work work = {.in = r->in, .out = NULL, .len = r->in_bytes};
    if (c->side == GCM_BY_GPU && r->in_bytes == 0 && r->cpu_function == c->cipher->cpu.update) {
        *r->out_bytes = 0;
        return 1;
    }
    if (c->side == GCM_BY_GPU) {
        error_raise(c->provider, ERROR_OUT_OF_ORDER, "additional data after text");
        return 0;
    }
    if (c->device_memory && r->in_bytes != 0) {
        if (!policy_locate(c->provider, &work))
            return 0;
        if (work.in_kind == GPUAES_DEVICE)
            return gcm_stream_sync(c) && add_from_device(c, r);
    }
    int ok = on_cpu(c, r);
    if (ok)
        gcm_keep_aad(c, r->in, r->in_bytes);
    return ok;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static int can_take(const struct gcm_context *c, const struct gcm_request *r)
{
    if (!is_safe(r))
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    "input and output overlap in part: they must be the same, or disjoint");
    else if (r->in_bytes > GCM_TEXT_MOST - c->message.text_bytes)
        error_raise(c->provider, ERROR_TOO_LONG,
                    "%zu bytes after %llu, and a message of GCM has at most 2^36 - 32", r->in_bytes,
                    (unsigned long long)c->message.text_bytes);
    else
        return 1;
    return 0;
}

/* The message is the CPU's from here on, with its first text. */
static int give_to_cpu(struct gcm_context *c, const struct gcm_request *r, const struct work *work)
{
    gcm_leave_to_cpu(c, work->why);
    int ok = on_cpu(c, r);
    if (ok) {
        c->totals.cpu_bytes[work->why] += r->in_bytes;
        policy_done(work, MODEL_CPU);
        if (work->why == CPU_FASTER)
            gcm_keep_choice(c, r->in_bytes);
    }
    return ok;
}

/* How a GPU's message takes text. */
struct way {
    int by_gpu; /* whole blocks are offered to a device */
    unsigned flags;
};

/* TAKES: it is a GPU's message, and takes the text. Else the result, with the text done or refused.
 */
enum { TAKES = -1 };

/* Text that only a device reads, or may. */
static int choose_device_memory(struct gcm_context *c, const struct gcm_request *r,
                                struct work *work, struct way *way)
{
    if (!policy_locate(c->provider, work))
        return 0;
    int is_on_device = work_is_on_device(work), is_long = c->aad_bytes > GCM_AAD_MOST;
    work->why = CPU_UNSUITED;
    if (c->side == GCM_BY_CPU && !is_on_device)
        return on_cpu(c, r);
    if (c->side != GCM_BY_CPU && is_long && !is_on_device)
        return give_to_cpu(c, r, work);
    if (c->side == GCM_BY_CPU || is_long) {
        error_raise(c->provider, ERROR_DEVICE_MEMORY,
                    is_long ? "the message has more than %d bytes of additional data"
                            : "the message was begun by the CPU",
                    GCM_AAD_MOST);
        return 0;
    }
    if (c->side != GCM_BY_GPU && !gcm_message_begin(c)) {
        error_raise(c->provider, ERROR_NOT_INITIALISED,
                    c->has_key ? "the message has no IV that is new" : "no key was given");
        return 0;
    }
    int queued = can_take(c, r) ? gcm_stream_queue(c, work) : 0;
    if (queued == 1)
        *r->out_bytes = r->in_bytes;
    if (queued != -1)
        return queued;
    work->why = CPU_SMALL;
    enum policy_choice choice = is_on_device ? CHOICE_GPU_ONLY : policy_choose(c->provider, work);
    *way = (struct way){choice != CHOICE_CPU, GPUAES_WAIT};
    return choice == CHOICE_FAIL ? 0 : TAKES;
}

static int choose(struct gcm_context *c, const struct gcm_request *r, struct work *work,
                  struct way *way)
{
    enum policy_choice choice = policy_choose(c->provider, work);
    if (choice == CHOICE_FAIL)
        return 0;
    if (choice == CHOICE_GPU_ONLY)
        return choose_device_memory(c, r, work, way);
    /* The CPU's part of a GPU's message is several times slower than a message by the CPU alone. */
    *way = (struct way){choice != CHOICE_CPU || work->why == CPU_FASTER, policy_flags(c->provider)};
    if (c->side == GCM_BY_GPU)
        return TAKES;
    if (choice == CHOICE_CPU)
        return give_to_cpu(c, r, work);
    if (is_safe(r) && c->aad_bytes <= GCM_AAD_MOST && gcm_message_begin(c))
        return TAKES;
    work->why = CPU_UNSUITED; /* or refused: the default provider will say why */
    work->cell = NULL;
    return give_to_cpu(c, r, work);
}

/* Without input, cipher() ends a message, and so does an update that has a length. */
static int is_final(const struct gcm_context *c, const struct gcm_request *r)
{
    return r->in_bytes != 0 || r->cpu_function == c->cipher->cpu.cipher;
}

/* An update without text, or one that the default provider refuses. */
static int without_text(struct gcm_context *c, const struct gcm_request *r)
{
    if (r->in == NULL && c->side == GCM_BY_GPU && is_final(c, r)) {
        int ok = gcm_final(c, r->out, r->out_bytes, r->outsize);
        if (ok && r->cpu_function == c->cipher->cpu.cipher)
            *r->out_bytes = r->in_bytes; /* as the default provider says, whatever it was */
        return ok;
    }
    if (r->out == NULL && r->in != NULL)
        return add_aad(c, r);
    if (r->in == NULL || r->outsize < r->in_bytes || c->side != GCM_BY_GPU)
        return on_cpu(c, r);
    *r->out_bytes = 0;
    return 1;
}

/* What is no small update of a message that is the CPU's or may be. */
__attribute__((noinline)) static int
long_update(struct gcm_context *c, OSSL_FUNC_cipher_update_fn *cpu_function, unsigned char *out,
            size_t *out_bytes, size_t outsize, const unsigned char *in, size_t in_bytes)
{
    const struct gcm_request request = {cpu_function, out, out_bytes, outsize, in, in_bytes};
    const struct gcm_request *r = &request;
    struct way way = {0, 0};
    struct work work = {.kind = c->encrypting ? WORK_GCM_ENCRYPT : WORK_GCM_DECRYPT,
                        .key_bytes = c->cipher->key_bytes,
                        .in = r->in,
                        .out = r->out,
                        .len = r->in_bytes,
                        .out_len = r->in_bytes};
    (void)totals_forget(&c->totals);
    if (in == NULL || out == NULL || in_bytes == 0 || outsize < in_bytes)
        return without_text(c, r);
    int result =
        c->device_memory ? choose_device_memory(c, r, &work, &way) : choose(c, r, &work, &way);
    if (result != TAKES)
        return result;
    if (!can_take(c, r) || !gcm_message_update(c, &work, way.by_gpu, way.flags))
        return 0;
    *out_bytes = in_bytes;
    return 1;
}

/*
 * A call without output, mostly with additional data, which are the default provider's unless they
 * may be in device memory or come after text that a GPU did. They are kept after it has taken them:
 * it refuses them where it has no IV to use as yet, and may get one before another message begins.
 */
__attribute__((noinline)) static int without_output(struct gcm_context *c,
                                                    OSSL_FUNC_cipher_update_fn *cpu_function,
                                                    size_t *out_bytes, size_t outsize,
                                                    const unsigned char *in, size_t in_bytes)
{
    c->is_begun = 1;
    if (c->small == 0 || c->device_memory)
        return long_update(c, cpu_function, NULL, out_bytes, outsize, in, in_bytes);
    int ok = cpu_function(c->cpu, NULL, out_bytes, outsize, in, in_bytes);
    if (ok && in != NULL)
        gcm_keep_aad(c, in, in_bytes);
    return ok;
}

/*
 * The hot path: a few instructions, and a jump into the default provider. Text that is small makes
 * the message the CPU's.
 */
static inline int is_hot(struct gcm_context *c, size_t in_bytes)
{
    if (__builtin_expect(in_bytes >= c->small, 0))
        return 0;
    c->small = SIZE_MAX;
    c->side |= GCM_BY_CPU;
    c->totals.cpu_bytes[c->why] += in_bytes;
    return 1;
}

HOT int gcm_update(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                   const unsigned char *in, size_t in_bytes)
{
    struct gcm_context *c = context;
    OSSL_FUNC_cipher_update_fn *function = c->cipher->cpu.update;
    if (__builtin_expect(out == NULL, 0))
        return without_output(c, function, out_bytes, outsize, in, in_bytes);
    return is_hot(c, in_bytes) ? function(c->cpu, out, out_bytes, outsize, in, in_bytes)
                               : long_update(c, function, out, out_bytes, outsize, in, in_bytes);
}

HOT int gcm_cipher(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                   const unsigned char *in, size_t in_bytes)
{
    struct gcm_context *c = context;
    OSSL_FUNC_cipher_cipher_fn *function = c->cipher->cpu.cipher;
    if (__builtin_expect(out == NULL, 0))
        return without_output(c, function, out_bytes, outsize, in, in_bytes);
    return is_hot(c, in_bytes) ? function(c->cpu, out, out_bytes, outsize, in, in_bytes)
                               : long_update(c, function, out, out_bytes, outsize, in, in_bytes);
}

/* A message that a GPU does. */
__attribute__((noinline)) static int final_message(struct gcm_context *c, size_t *out_bytes)
{
    if (!gcm_stream_sync(c) || !gcm_message_final(c))
        return 0;
    *out_bytes = 0;
    return 1;
}

HOT int gcm_final(void *context, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    struct gcm_context *c = context;
    if (__builtin_expect(c->side == GCM_BY_GPU, 0))
        return final_message(c, out_bytes);
    c->is_begun = 1;
    return c->cipher->cpu.final(c->cpu, out, out_bytes, outsize);
}
