/*
 * AES-GCM: contexts, initialisation and parameters.
 *
 * The default provider's context has all parameters; what is noted here is what messages that a GPU
 * does need.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_context.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/ciphers/gcm/gcm_cpu.h"
#include "provider/ciphers/gcm/gcm_message.h"
#include "provider/ciphers/gcm/gcm_stream.h"

void *gcm_new(struct provider *provider, const struct cipher *cipher)
{
    struct gcm_context *c = OPENSSL_zalloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->cpu = cipher->cpu.newctx(provider->cpu.context);
    if (c->cpu == NULL) {
        OPENSSL_free(c);
        return NULL;
    }
    c->cipher = cipher;
    c->provider = provider;
    totals_begin(&c->totals);
    gcm_ask_policy(c);
    gcm_set_thresholds(c);
    policy_context_created(provider);
    return c;
}

static void forget_key(struct gcm_context *c)
{
    if (c->expanded)
        OPENSSL_cleanse(&c->schedule, sizeof c->schedule);
    OPENSSL_cleanse(c->key, sizeof c->key);
    if (c->ctr != NULL)
        c->cipher->helper.freectx(c->ctr);
    if (c->hash != NULL) {
        c->cipher->cpu.freectx(c->hash);
        OPENSSL_cleanse(c->hash_mask, sizeof c->hash_mask);
    }
    c->ctr = c->hash = NULL;
    c->expanded = c->has_key = 0;
}

void gcm_free(void *context)
{
    struct gcm_context *c = context;
    if (c == NULL)
        return;
    stream_unbind(&c->stream.binding);
    totals_flush(&c->totals);
    c->cipher->cpu.freectx(c->cpu);
    /* All that is secret: overwriting the rest would show in short messages. */
    forget_key(c);
    if (c->side == GCM_BY_GPU)
        OPENSSL_cleanse(&c->message, sizeof c->message);
    OPENSSL_free(c->aad_long);
    OPENSSL_free(c);
}

/* A copy has a binding of its own to the stream, whose work is waited for. */
void *gcm_copy(void *context)
{
    struct gcm_context *c = context;
    struct gcm_context *copy = gcm_stream_sync(c) ? OPENSSL_memdup(c, sizeof *c) : NULL;
    if (copy == NULL)
        return NULL;
    copy->ctr = copy->hash = NULL;
    OPENSSL_cleanse(copy->hash_mask, sizeof copy->hash_mask);
    copy->stream.binding = NULL;
    copy->cpu = c->cipher->cpu.dupctx(c->cpu);
    if (copy->cpu == NULL) {
        OPENSSL_clear_free(copy, sizeof *copy);
        return NULL;
    }
    totals_begin(&copy->totals);
    if (c->aad_long != NULL &&
        (copy->aad_long = OPENSSL_memdup(c->aad_long, GCM_AAD_MOST)) == NULL) {
        gcm_free(copy);
        return NULL;
    }
    if (c->stream.binding == NULL || gcm_stream_open(copy, c->stream.handle))
        return copy;
    gcm_free(copy);
    return NULL;
}

/* ---- Setting parameters ------------------------------------------------------------- */

static int names(const OSSL_PARAM params[], const char *name)
{
    return OSSL_PARAM_locate_const(params, name) != NULL;
}

/* TLS records, and IVs that the default provider counts: such messages are the CPU's. */
static int names_tls(const OSSL_PARAM params[])
{
    return names(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD) ||
           names(params, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED) ||
           names(params, OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV);
}

static int read_own(const struct gcm_context *c, const OSSL_PARAM params[],
                    struct device_params *read)
{
    return device_params_read(c->provider, params, c->device_memory, names_tls(params), read);
}

static int check_params(const struct gcm_context *c, const OSSL_PARAM params[])
{
    struct device_params read;
    return params == NULL || read_own(c, params, &read);
}

static int apply_own(struct gcm_context *c, const struct device_params *d)
{
    if (!d->names_memory && !d->names_stream)
        return 1;
    if (d->names_memory && !d->memory) {
        if (!gcm_stream_close(c))
            return 0;
        c->device_memory = 0;
        return 1;
    }
    if (!policy_require(c->provider) || (d->names_stream && !gcm_stream_open(c, d->stream)))
        return 0;
    c->device_memory = 1;
    return 1;
}

/* Whether they end a message that a GPU does, also where they are refused as a whole. */
static int leaves_gpu(struct gcm_context *c, const OSSL_PARAM params[])
{
    int names_any = names_tls(params) || names(params, OSSL_CIPHER_PARAM_IVLEN);
    return names_any && !gcm_cpu_goes_on(c, params);
}

static int set_params(struct gcm_context *c, const OSSL_PARAM params[])
{
    struct device_params read;
    if (!read_own(c, params, &read))
        return 0;
    int leaves = c->side == GCM_BY_GPU ? leaves_gpu(c, params) : names_tls(params);
    c->iv_bytes = 0;
    c->again = -1;
    int ok = c->cipher->cpu.set_ctx_params(c->cpu, params);
    if (leaves) {
        gcm_leave_to_cpu(c, CPU_UNSUITED);
        c->is_tls |= names(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD);
    }
    /* Some may have been set where others were refused. */
    ok = apply_own(c, &read) && ok;
    if (read.names_memory || read.names_stream)
        gcm_set_thresholds(c);
    return ok;
}

/* ---- Initialisation -------------------------------------------------------------------- */

static void ask_again(struct gcm_context *c)
{
    int is_due = gcm_is_to_be_asked(c);
    if (is_due)
        totals_flush(&c->totals);
    if (is_due || c->reason_if_small != CPU_FASTER || !c->has_key || policy_saw_cuda())
        gcm_ask_policy(c);
}

/*
 * An IV begins a message. So does a key, where the default provider has not used the IV before it;
 * else what it makes of that is its own. After data of a TLS record the next call has that record,
 * whatever IV comes between. Taking such a message over would use the data up.
 */
static void begin_message(struct gcm_context *c, int has_iv)
{
    int is_fresh = c->side == GCM_UNDECIDED && !c->is_begun;
    c->side = (has_iv || is_fresh) && !c->is_tls ? GCM_UNDECIDED : GCM_BY_CPU;
    c->aad_bytes = 0;
    c->is_begun = 0;
}

static void note_key(struct gcm_context *c, const unsigned char *key)
{
    forget_key(c);
    c->has_key = 1;
    memcpy(c->key, key, c->cipher->key_bytes);
}

static int init(struct gcm_context *c, int encrypting, const unsigned char *key, size_t key_bytes,
                const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    OSSL_FUNC_cipher_encrypt_init_fn *cpu_init =
        encrypting ? c->cipher->cpu.encrypt_init : c->cipher->cpu.decrypt_init;
    if (!check_params(c, params))
        return 0;
    c->encrypting = encrypting;
    int ok = cpu_init(c->cpu, key, key_bytes, iv, iv_bytes, NULL);
    if (key != NULL || (ok && iv != NULL))
        gcm_message_give_up(c);
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
    ok = ok && (params == NULL || set_params(c, params));
    ask_again(c);
    gcm_set_thresholds(c);
    return ok;
}

HOT int gcm_encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                         const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct gcm_context *c = context;
    if (key == NULL && iv != NULL && params == NULL && gcm_begin_again(c, 1, iv_bytes))
        return c->cipher->cpu.encrypt_init(c->cpu, NULL, 0, iv, iv_bytes, NULL);
    return init(c, 1, key, key_bytes, iv, iv_bytes, params);
}

HOT int gcm_decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                         const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct gcm_context *c = context;
    if (key == NULL && iv != NULL && params == NULL && gcm_begin_again(c, 0, iv_bytes))
        return c->cipher->cpu.decrypt_init(c->cpu, NULL, 0, iv, iv_bytes, NULL);
    return init(c, 0, key, key_bytes, iv, iv_bytes, params);
}

/* ---- Getting parameters ------------------------------------------------------------- */

/*
 * The length of the IV alone, which libcrypto 3.0 asks for before each IV. The default provider
 * looks for all names that it knows, which takes a seventh of a short message's instructions; so
 * the length of the last IV is the answer, as long as no parameter may have changed it.
 */
static int is_known(const struct gcm_context *c, const OSSL_PARAM params[])
{
    return c->iv_bytes != 0 && params[0].key != NULL && params[1].key == NULL &&
           strcmp(params[0].key, OSSL_CIPHER_PARAM_IVLEN) == 0;
}

static int get_params(struct gcm_context *c, OSSL_PARAM params[])
{
    if (is_known(c, params) && OSSL_PARAM_set_size_t(params, c->iv_bytes))
        return 1;
    int ok = c->cipher->cpu.get_ctx_params(c->cpu, params);
    /* Makes an IV, and begins a message, also where a parameter after it is refused. */
    if (names(params, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN) &&
        (c->side != GCM_BY_GPU || gcm_cpu_has_begun(c)))
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    return ok && device_params_write(params, c->device_memory,
                                     c->stream.binding != NULL ? &c->stream.handle : NULL);
}

/*
 * Whether a call is the default provider's alone: it has no parameters, or names none of gpuaes,
 * and nothing that begins a message, is TLS's or an IV's. Each message asks for its tag or tells
 * it, so a few instructions count.
 */
static inline int is_default_only(const OSSL_PARAM *params)
{
    if (params == NULL)
        return 1;
    for (; params->key != NULL; params++) {
        const char *key = params->key;
        if (key[0] == 'c' || key[0] == 'd' || key[0] == 'i' || (key[0] == 't' && key[1] == 'l'))
            return 0;
    }
    return 1;
}

HOT int gcm_get_params(void *context, OSSL_PARAM params[])
{
    const struct gcm_context *c = context;
    return is_default_only(params) ? c->cipher->cpu.get_ctx_params(c->cpu, params)
                                   : get_params(context, params);
}

HOT int gcm_set_params(void *context, const OSSL_PARAM params[])
{
    const struct gcm_context *c = context;
    return is_default_only(params) ? c->cipher->cpu.set_ctx_params(c->cpu, params)
                                   : set_params(context, params);
}
