/*
 * Contexts of ECB, CBC, CTR and XTS: state, the default provider's context, totals and thresholds.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/context.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/policy/calibration.h"

struct blocks_context *context_new(struct provider *provider, const struct cipher *cipher)
{
    struct blocks_context *c = OPENSSL_zalloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->hot.cpu = cipher->cpu.newctx(provider->cpu.context);
    if (c->hot.cpu == NULL) {
        OPENSSL_free(c);
        return NULL;
    }
    c->hot.cpu_update = cipher->cpu.update;
    c->hot.cpu_cipher = cipher->cpu.cipher;
    c->cipher = cipher;
    c->provider = provider;
    totals_begin(&c->totals);
    return c;
}

void context_free(struct blocks_context *c)
{
    context_flush_totals(c);
    c->cipher->cpu.freectx(c->hot.cpu);
    /* All that is secret: overwriting the rest would show in short messages. */
    context_forget_key(c);
    OPENSSL_free(c);
}

/*
 * The default provider's copy of a context of XTS without a key takes itself to have one, and
 * crashes: a new one gets the IV instead. The direction comes with the key.
 */
static void *copy_cpu(const struct blocks_context *c)
{
    const struct cpu_cipher *cpu = &c->cipher->cpu;
    unsigned char iv[GPUAES_BLOCK];
    int can_copy = (c->cipher->flags & CIPHER_UNITS) == 0 || c->state.cpu_has_key;
    void *copy = can_copy ? cpu->dupctx(c->hot.cpu) : cpu->newctx(c->provider->cpu.context);
    if (can_copy || copy == NULL || !c->state.has_iv)
        return copy;
    if (context_get_iv(c, iv) && cpu->encrypt_init(copy, NULL, 0, iv, sizeof iv, NULL))
        return copy;
    cpu->freectx(copy);
    return NULL;
}

struct blocks_context *context_copy(const struct blocks_context *c)
{
    struct blocks_context *copy = OPENSSL_memdup(c, sizeof *c);
    if (copy == NULL)
        return NULL;
    copy->hot.cpu = copy_cpu(c);
    if (copy->hot.cpu == NULL) {
        OPENSSL_clear_free(copy, sizeof *copy);
        return NULL;
    }
    /* What was counted is the original's, which others may be copying too. */
    copy->hot.countdown = copy->hot.armed;
    copy->state.iv_lent = 0;
    totals_begin(&copy->totals);
    return copy;
}

/* ---- State ------------------------------------------------------------------------ */

void context_forget_key(struct blocks_context *c)
{
    if (c->state.expanded)
        OPENSSL_cleanse(&c->state.schedule, sizeof c->state.schedule);
    OPENSSL_cleanse(c->state.key, sizeof c->state.key);
    c->state.expanded = c->state.has_key = 0;
}

void context_note_key(struct blocks_context *c, const unsigned char *key)
{
    if (c->state.has_key)
        context_forget_key(c);
    c->state.has_key = c->state.cpu_has_key = 1;
    c->state.key_encrypting = c->state.encrypting;
    memcpy(c->state.key, key, c->cipher->cpu.key_bytes);
}

/* Returns 1 if one message's blocks cannot be done in parallel, 0 otherwise. */
static int is_serial(const struct blocks_context *c)
{
    return (c->cipher->flags & CIPHER_CHAINED) != 0 && c->state.encrypting;
}

int context_is_eligible(const struct blocks_context *c)
{
    const struct blocks_state *s = &c->state;
    if (!s->has_key || s->tls || s->finished || is_serial(c) ||
        (c->cipher->iv_bytes != 0 && !s->has_iv))
        return 0;
    /* Turning the direction without giving the key again leaves the default
     * provider with the schedule of the other one: what it makes of it is its own. */
    return c->cipher->op[0] == c->cipher->op[1] || s->encrypting == s->key_encrypting;
}

enum gpuaes_op context_op(const struct blocks_context *c)
{
    return c->cipher->op[c->state.encrypting];
}

const struct gpuaes_key *context_schedule(struct blocks_context *c)
{
    struct blocks_state *s = &c->state;
    if (!s->expanded && !gpuaes_key_expand(&s->schedule, s->key, c->cipher->key_bytes))
        return NULL;
    s->expanded = 1;
    return &s->schedule;
}

/* ---- The default provider's context --------------------------------------------------- */

int context_get_uint(const struct blocks_context *c, const char *name, unsigned *value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, value), OSSL_PARAM_construct_end()};
    return c->cipher->cpu.get_ctx_params(c->hot.cpu, params);
}

int context_set_uint(struct blocks_context *c, const char *name, unsigned value)
{
    return cpu_set_uint(&c->cipher->cpu, c->hot.cpu, name, value);
}

/*
 * An IV, where the CPU's context has it. It is asked for as a pointer also because libcrypto 3.5
 * leaves the error of its first guess in the application's queue where a string is asked for.
 */
static unsigned char *find_iv(const struct blocks_context *c, const char *name)
{
    void *iv = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(name, &iv, GPUAES_BLOCK),
                           OSSL_PARAM_construct_end()};
    int ok =
        c->cipher->cpu.get_ctx_params(c->hot.cpu, params) && params[0].return_size == GPUAES_BLOCK;
    return ok ? iv : NULL;
}

int context_get_iv(const struct blocks_context *c, unsigned char iv[GPUAES_BLOCK])
{
    if (c->cipher->iv_bytes == 0)
        return 1;
    const unsigned char *updated = find_iv(c, OSSL_CIPHER_PARAM_UPDATED_IV);
    if (updated != NULL)
        memcpy(iv, updated, GPUAES_BLOCK);
    return updated != NULL;
}

/*
 * By an initialisation, which takes the IV as the original one, too: that is put back in its
 * place, to which the application may have a pointer. It also clears `num`, which means nothing to
 * ciphers that are no stream; but what was set must be read back.
 */
int context_set_iv(struct blocks_context *c, const unsigned char iv[GPUAES_BLOCK])
{
    unsigned num = 0;
    if (c->cipher->iv_bytes == 0)
        return 1;
    unsigned char *original = find_iv(c, OSSL_CIPHER_PARAM_IV), saved[GPUAES_BLOCK];
    if (original == NULL || ((c->cipher->flags & CIPHER_STREAM) == 0 &&
                             !context_get_uint(c, OSSL_CIPHER_PARAM_NUM, &num)))
        return 0;
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        c->state.encrypting ? c->cipher->cpu.encrypt_init : c->cipher->cpu.decrypt_init;
    memcpy(saved, original, sizeof saved);
    int ok = init(c->hot.cpu, NULL, 0, iv, GPUAES_BLOCK, NULL);
    memcpy(original, saved, sizeof saved);
    return ok && (num == 0 || context_set_uint(c, OSSL_CIPHER_PARAM_NUM, num));
}

/* ---- Totals and thresholds ------------------------------------------------------------ */

void context_forget_parent(struct blocks_context *c, size_t bytes)
{
    if (totals_forget(&c->totals))
        c->hot.countdown = c->hot.armed - (int64_t)bytes;
}

uint64_t context_count(struct blocks_context *c, size_t bytes)
{
    uint64_t counted = (uint64_t)(c->hot.armed - c->hot.countdown);
    c->totals.cpu_bytes[c->reason_if_small] += counted - bytes;
    c->hot.countdown = c->hot.armed;
    return counted;
}

void context_flush_totals(struct blocks_context *c)
{
    context_forget_parent(c, 0);
    (void)context_count(c, 0);
    totals_flush(&c->totals);
}

static enum cpu_reason find_reason(const struct blocks_context *c, size_t floor)
{
    if (c->state.tls || is_serial(c))
        return CPU_UNSUITED;
    if (context_is_eligible(c) && floor == SIZE_MAX)
        return CPU_NO_DEVICE;
    /* Data units are mostly of one length: the last choice is also that of the next. */
    return (c->cipher->flags & CIPHER_UNITS) != 0 && c->state.stays_on_cpu ? CPU_FASTER : CPU_SMALL;
}

static size_t find_floor(const struct blocks_context *c)
{
    return policy_floor(c->provider, (enum policy_work)context_op(c), c->cipher->key_bytes);
}

void context_set_thresholds(struct blocks_context *c)
{
    (void)context_count(c, 0);
    c->state.thresholds_stay = 0;
    /* Every pointer must be looked at, or every call refused. */
    if (c->state.device_memory || c->state.lost || c->hot.keystream != NULL) {
        c->hot.small = 0;
        c->hot.armed = c->hot.countdown = -1;
        return;
    }
    int is_forced = policy_is_forced(c->provider);
    size_t floor = context_is_eligible(c) ? find_floor(c) : SIZE_MAX;
    if (!c->state.finished)
        c->reason_if_small = find_reason(c, floor);
    /* With a tweak alone nothing is set here, and a device may come yet. */
    if ((c->cipher->flags & CIPHER_UNITS) != 0 && floor == SIZE_MAX)
        floor = MEASURE_FLOOR;
    if (c->state.stays_on_cpu && floor < POLICY_ASK_AGAIN && !is_forced)
        floor = POLICY_ASK_AGAIN;
    /* It takes no device to do updates under 1 KiB, and no figures. */
    c->hot.small = is_forced ? 0 : 1024;
    c->hot.large = floor;
    uint64_t armed =
        c->cipher->read_ahead != NULL ? c->cipher->read_ahead->distance(c) : UINT64_MAX;
    if (armed > floor && c->state.stays_on_cpu)
        armed = floor;
    c->hot.armed = c->hot.countdown = armed > INT64_MAX ? INT64_MAX : (int64_t)armed - 1;
    c->state.thresholds_stay =
        !c->state.finished && !c->state.stays_on_cpu && c->stream.binding == NULL;
}

/* ---- Updates -------------------------------------------------------------------------- */

void request_advance(struct request *r, size_t bytes, size_t written)
{
    r->in += bytes;
    r->in_bytes -= bytes;
    r->out += written;
    r->outsize -= written;
    r->written += written;
    r->is_cut = 0;
}

int context_on_host(struct blocks_context *c, struct request *r, size_t bytes)
{
    OSSL_FUNC_cipher_update_fn *function = r->oneshot ? c->hot.cpu_cipher : c->hot.cpu_update;
    size_t written = 0;
    if (!function(c->hot.cpu, r->out, &written, r->outsize, r->in, bytes))
        return 0;
    request_advance(r, bytes, written);
    return 1;
}

int context_sync_ahead(struct blocks_context *c)
{
    return c->hot.keystream == NULL || c->cipher->read_ahead->sync(c, 0);
}

int context_end_ahead(struct blocks_context *c)
{
    return c->cipher->read_ahead == NULL || c->cipher->read_ahead->sync(c, 1);
}
