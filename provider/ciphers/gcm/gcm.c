/*
 * AES-GCM contexts: from a new one to the first text of a message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_state.h"

#include <openssl/crypto.h>
#include <string.h>

#include "provider/ciphers/gcm/gcm_stream.h"
#include "provider/ciphers/gcm/parameters.h"
#include "provider/policy/policy.h"

struct gcm_context *gcm_context_new(struct provider *provider, const struct gcm_cipher *cipher)
{
    struct gcm_context *c = OPENSSL_malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    memset(c, 0, offsetof(struct gcm_context, aad));
    c->cpu = cipher->cpu.newctx(provider->cpu.context);
    if (c->cpu == NULL) {
        OPENSSL_free(c);
        return NULL;
    }
    c->cipher = cipher;
    c->provider = provider;
    totals_begin(&c->totals);
    gcm_ask_policy(c);
    gcm_update_thresholds(c);
    policy_context_created(provider);
    return c;
}

static void forget_key(struct gcm_context *c)
{
    if (c->expanded)
        OPENSSL_cleanse(&c->schedule, sizeof c->schedule);
    OPENSSL_cleanse(c->key, sizeof c->key);
    if (c->ctr != NULL)
        c->cipher->ctr.freectx(c->ctr);
    if (c->hash != NULL)
        c->cipher->cpu.freectx(c->hash);
    c->ctr = c->hash = NULL;
    c->expanded = c->has_key = 0;
}

void gcm_context_free(struct gcm_context *c)
{
    if (c == NULL)
        return;
    gcm_stream_unbind(c);
    totals_flush(&c->totals);
    c->cipher->cpu.freectx(c->cpu);
    /* All that is secret: overwriting the rest would show in short messages. */
    forget_key(c);
    if (c->side == GCM_OURS)
        OPENSSL_cleanse(&c->ours, sizeof c->ours);
    OPENSSL_free(c);
}

struct gcm_context *gcm_context_copy(struct gcm_context *c)
{
    struct gcm_context *copy = gcm_stream_sync(c) ? OPENSSL_memdup(c, sizeof *c) : NULL;
    if (copy == NULL)
        return NULL;
    copy->ctr = copy->hash = NULL;
    copy->stream.binding = NULL;
    copy->cpu = c->cipher->cpu.dupctx(c->cpu);
    if (copy->cpu == NULL) {
        OPENSSL_clear_free(copy, sizeof *copy);
        return NULL;
    }
    totals_begin(&copy->totals);
    if (c->stream.binding == NULL || gcm_stream_open(copy, c->stream.handle))
        return copy;
    gcm_context_free(copy);
    return NULL;
}

/* ---- Initialisation -------------------------------------------------------------------- */

const struct gpuaes_gcm_key *gcm_schedule(struct gcm_context *c)
{
    if (!c->expanded && !gpuaes_gcm_key_expand(&c->schedule, c->key, c->cipher->key_bytes))
        return NULL;
    c->expanded = 1;
    return &c->schedule;
}

void gcm_ask_policy(struct gcm_context *c)
{
    enum policy_work work = c->encrypting ? WORK_GCM_ENCRYPT : WORK_GCM_DECRYPT;
    c->floor = c->has_key ? policy_floor(c->provider, work, c->cipher->key_bytes) : SIZE_MAX;
    c->others = c->has_key && c->floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
}

void gcm_keep_choice(struct gcm_context *c, size_t bytes)
{
    /* The next one's memory may be a device's, which longer ones may be without being named. */
    if (bytes >= POLICY_ASK_AGAIN || policy_saw_cuda())
        return;
    c->floor = bytes + 1;
    c->others = CPU_FASTER;
}

static void ask_again(struct gcm_context *c)
{
    int is_due = gcm_is_to_be_asked(c);
    if (is_due)
        totals_flush(&c->totals);
    if (is_due || c->others != CPU_FASTER || !c->has_key || policy_saw_cuda())
        gcm_ask_policy(c);
}

/* Forgets a message of ours that has not ended. The key must be that of the message. */
static void give_up(struct gcm_context *c)
{
    if (c->side != GCM_OURS)
        return;
    gcm_stream_drop(c);
    OPENSSL_cleanse(&c->ours, sizeof c->ours);
}

void gcm_leave_to_cpu(struct gcm_context *c, enum cpu_reason why)
{
    give_up(c);
    c->side = GCM_CPUS;
    c->again = -1;
    c->why = why;
    c->small = c->device_memory ? 0 : SIZE_MAX; /* every pointer must be looked at */
}

void gcm_update_thresholds(struct gcm_context *c)
{
    int is_cpus = c->side == GCM_CPUS || c->side == GCM_DONE;
    c->small = is_cpus ? SIZE_MAX : c->floor;
    c->why = is_cpus ? c->why : c->others;
    if (c->side == GCM_OURS || (c->device_memory && c->side != GCM_DONE))
        c->small = 0;
    int is_usual = c->has_key && c->iv_bytes != 0 && !c->device_memory;
    c->again = is_usual && c->side == GCM_UNDECIDED ? c->encrypting : -1;
}

/*
 * An IV begins a message. So does a key, where the default provider has not used the IV before it;
 * else what it makes of that is its own.
 */
static void begin_message(struct gcm_context *c, int has_iv)
{
    int is_fresh = c->side == GCM_UNDECIDED && !c->is_begun;
    c->side = has_iv || is_fresh ? GCM_UNDECIDED : GCM_CPUS;
    c->aad_bytes = 0;
    c->is_begun = 0;
}

static void note_key(struct gcm_context *c, const unsigned char *key)
{
    forget_key(c);
    c->has_key = 1;
    memcpy(c->key, key, c->cipher->key_bytes);
}

int gcm_init(struct gcm_context *c, int encrypting, const unsigned char *key, size_t key_bytes,
             const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        encrypting ? c->cipher->cpu.encrypt_init : c->cipher->cpu.decrypt_init;
    if (!gcm_check_params(c, params))
        return 0;
    c->encrypting = encrypting;
    int ok = init(c->cpu, key, key_bytes, iv, iv_bytes, NULL);
    if (key != NULL || (ok && iv != NULL))
        give_up(c);
    if (ok && key != NULL)
        note_key(c, key);
    if (ok && iv != NULL)
        c->iv_bytes = iv_bytes;
    if (ok && (key != NULL || iv != NULL))
        begin_message(c, iv != NULL);
    if (!ok)
        c->iv_bytes = 0;      /* not known */
    if (!ok && key != NULL) { /* which key the CPU has now is not known */
        forget_key(c);
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    }
    ok = ok && (params == NULL || gcm_set_params(c, params));
    ask_again(c);
    gcm_update_thresholds(c);
    return ok;
}
