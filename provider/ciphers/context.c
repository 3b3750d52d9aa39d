/*
 * AES contexts: their own state and totals. It calls no feature, which all are above it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/context.h"

#include <openssl/crypto.h>
#include <string.h>

struct aes_context *aes_context_new(struct provider *provider, const struct aes_cipher *cipher)
{
    struct aes_context *c = OPENSSL_zalloc(sizeof *c);
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
    c->mode = cipher->mode;
    c->provider = provider;
    totals_begin(&c->totals);
    return c;
}

void aes_context_free(struct aes_context *c)
{
    aes_flush_totals(c);
    c->cipher->cpu.freectx(c->hot.cpu);
    /* All that is secret: overwriting the rest would show in short messages. */
    aes_forget_key(c);
    OPENSSL_free(c);
}

struct aes_context *aes_context_copy(const struct aes_context *c)
{
    struct aes_context *copy = OPENSSL_memdup(c, sizeof *c);
    if (copy == NULL)
        return NULL;
    copy->hot.cpu = c->cipher->cpu.dupctx(c->hot.cpu);
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

void aes_forget_key(struct aes_context *c)
{
    if (c->state.expanded)
        OPENSSL_cleanse(&c->state.schedule, sizeof c->state.schedule);
    OPENSSL_cleanse(c->state.key, sizeof c->state.key);
    c->state.expanded = c->state.has_key = 0;
}

void aes_note_key(struct aes_context *c, const unsigned char *key)
{
    aes_forget_key(c);
    c->state.has_key = 1;
    c->state.key_encrypting = c->state.encrypting;
    memcpy(c->state.key, key, c->cipher->key_bytes);
}

int aes_is_serial(const struct aes_context *c)
{
    return (c->mode->flags & MODE_CHAINED) != 0 && c->state.encrypting;
}

int aes_is_eligible(const struct aes_context *c)
{
    const struct aes_state *s = &c->state;
    if (!s->has_key || s->tls || s->finished || aes_is_serial(c) ||
        (c->mode->iv_bytes != 0 && !s->has_iv))
        return 0;
    /* Turning the direction without giving the key again leaves the default
     * provider with the schedule of the other one: what it makes of it is its own. */
    return c->mode->op[0] == c->mode->op[1] || s->encrypting == s->key_encrypting;
}

enum gpuaes_op aes_op(const struct aes_context *c)
{
    return c->mode->op[c->state.encrypting];
}

const struct gpuaes_key *aes_schedule(struct aes_context *c)
{
    struct aes_state *s = &c->state;
    if (!s->expanded && !gpuaes_key_expand(&s->schedule, s->key, c->cipher->key_bytes))
        return NULL;
    s->expanded = 1;
    return &s->schedule;
}

/* ---- Totals ----------------------------------------------------------------------- */

void aes_count_own(struct aes_context *c, size_t bytes)
{
    if (totals_forget(&c->totals))
        c->hot.countdown = c->hot.armed - (int64_t)bytes;
}

uint64_t aes_add_to_totals(struct aes_context *c, size_t bytes)
{
    uint64_t counted = (uint64_t)(c->hot.armed - c->hot.countdown);
    c->totals.cpu_bytes[c->others] += counted - bytes;
    c->hot.countdown = c->hot.armed;
    return counted;
}

void aes_flush_totals(struct aes_context *c)
{
    aes_count_own(c, 0);
    (void)aes_add_to_totals(c, 0);
    totals_flush(&c->totals);
}
