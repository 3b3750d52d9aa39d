/*
 * ECB, CBC, CTR and XTS: contexts, initialisation, parameters and the end.
 *
 * Whatever the default provider accepts or refuses is decided by calling it;
 * we only remember what we need to take over in mid-stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/ciphers/blocks/blocks_device.h"
#include "provider/common/errors.h"
#include "provider/policy/calibration.h"

/* ---- Contexts ------------------------------------------------------------------------ */

void *blocks_new(struct provider *provider, const struct cipher *cipher)
{
    struct blocks_context *c = context_new(provider, cipher);
    if (c == NULL)
        return NULL;
    policy_context_created(provider);
    return c;
}

void blocks_free(void *context)
{
    struct blocks_context *c = context;
    if (c == NULL)
        return;
    (void)context_end_ahead(c);
    stream_unbind(&c->stream.binding);
    context_free(c);
}

/*
 * Whether the thresholds, and what else is known of the context, also hold for a message with
 * another IV, for a copy, and for an end: most messages are short, and setting all anew would show
 * in them.
 */
static inline int is_settled(const struct blocks_context *c)
{
    return c->state.thresholds_stay && !c->state.stays_on_cpu && !c->state.lost &&
           c->hot.keystream == NULL && c->ahead.run == 0;
}

void *blocks_copy(void *context)
{
    const struct blocks_context *c = context;
    struct blocks_context *copy = context_copy(c);
    if (copy == NULL)
        return NULL;
    int ok = c->cipher->read_ahead == NULL || c->cipher->read_ahead->copy(copy, c);
    ok = blocks_stream_copy(copy, c) && ok;
    if (!is_settled(c) || c->state.iv_lent)
        context_set_thresholds(copy);
    if (ok)
        return copy;
    blocks_free(copy);
    return NULL;
}

/* ---- Initialisation, and parameters ---------------------------------------------------- */

/* What a call names, besides the default provider's. */
struct own_params {
    struct device_params device;
    int names_tls;
};

/* Before the default provider's part; raises an error for a value that cannot be set. */
static int read_params(const struct blocks_context *c, const OSSL_PARAM params[],
                       struct own_params *p)
{
    memset(p, 0, sizeof *p);
    if (params == NULL || (c->cipher->flags & CIPHER_DEVICE_PARAMS) == 0)
        return 1;
    p->names_tls = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_VERSION) != NULL ||
                   OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE) != NULL;
    return device_params_read(c->provider, params, c->state.device_memory,
                              p->names_tls || c->state.tls, &p->device);
}

/* After the default provider's part. */
static int apply_params(struct blocks_context *c, const struct own_params *p)
{
    const struct device_params *d = &p->device;
    if (p->names_tls)
        c->state.tls = 1;
    if (d->names_memory && !d->memory) {
        int ok = blocks_stream_close(c);
        c->state.device_memory = c->stream.binding != NULL;
        return ok;
    }
    if (!d->names_memory && !d->names_stream)
        return 1;
    if (!policy_require(c->provider) || (d->names_stream && !blocks_stream_open(c, d->stream)))
        return 0;
    c->state.device_memory = 1;
    return 1;
}

/* Anything but an IV alone. */
static int init(struct blocks_context *c, OSSL_FUNC_cipher_encrypt_init_fn *cpu_init,
                int encrypting, const unsigned char *key, size_t key_bytes, const unsigned char *iv,
                size_t iv_bytes, const OSSL_PARAM params[])
{
    struct blocks_state *s = &c->state;
    /* Without an IV, CBC begins again with the original one, and CTR goes on with its counter. */
    int takes_iv = iv != NULL && iv_bytes != 0 && iv_bytes == c->cipher->iv_bytes;
    int repeats_iv = iv == NULL && s->has_iv && (c->cipher->flags & CIPHER_STREAM) == 0;
    struct own_params read;
    if (!read_params(c, params, &read))
        return 0;
    int ok = context_end_ahead(c);
    context_flush_totals(c);
    s->encrypting = encrypting;
    int is_taken = cpu_init(c->hot.cpu, key, key_bytes, iv, iv_bytes, NULL);
    /* An IV is taken first, whatever is refused after it; then the key. */
    if (takes_iv || repeats_iv) {
        s->has_iv = 1;
        c->state.chained = c->state.lost = 0;
    }
    if (is_taken && key != NULL)
        context_note_key(c, key);
    else if (key != NULL)
        context_forget_key(c); /* which key the CPU has now is not known */
    s->finished = s->stays_on_cpu = 0;
    ok = is_taken && ok && (params == NULL || c->cipher->cpu.set_ctx_params(c->hot.cpu, params));
    ok = apply_params(c, &read) && ok;
    context_set_thresholds(c);
    return ok;
}

/* Whether an initialisation changes nothing but the IV, as between data units and short messages.
 */
static inline int is_iv_alone(const struct blocks_context *c, int encrypting,
                              const unsigned char *key, const OSSL_PARAM params[])
{
    const struct blocks_state *s = &c->state;
    if (key != NULL || params != NULL || s->encrypting != encrypting ||
        (c->cipher->iv_bytes != 0 && !s->has_iv))
        return 0;
    return (c->cipher->flags & CIPHER_UNITS) != 0 ||
           (is_settled(c) && c->hot.armed - c->hot.countdown < MEASURE_FLOOR);
}

static inline int init_iv(struct blocks_context *c, OSSL_FUNC_cipher_encrypt_init_fn *cpu_init,
                          const unsigned char *iv, size_t iv_bytes)
{
    c->state.finished = 0;
    context_forget_parent(c, 0);
    return cpu_init(c->hot.cpu, NULL, 0, iv, iv_bytes, NULL);
}

int blocks_encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct blocks_context *c = context;
    OSSL_FUNC_cipher_encrypt_init_fn *cpu_init = c->cipher->cpu.encrypt_init;
    if (is_iv_alone(c, 1, key, params))
        return init_iv(c, cpu_init, iv, iv_bytes);
    return init(c, cpu_init, 1, key, key_bytes, iv, iv_bytes, params);
}

int blocks_decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct blocks_context *c = context;
    OSSL_FUNC_cipher_decrypt_init_fn *cpu_init = c->cipher->cpu.decrypt_init;
    if (is_iv_alone(c, 0, key, params))
        return init_iv(c, cpu_init, iv, iv_bytes);
    return init(c, cpu_init, 0, key, key_bytes, iv, iv_bytes, params);
}

/* As EVP sets it again in each initialisation of a context without padding. */
static int is_padding_alone(const OSSL_PARAM params[])
{
    return params != NULL && params[0].key != NULL &&
           strcmp(params[0].key, OSSL_CIPHER_PARAM_PADDING) == 0 && params[1].key == NULL;
}

int blocks_set_params(void *context, const OSSL_PARAM params[])
{
    struct blocks_context *c = context;
    struct own_params read;
    if (is_settled(c) && is_padding_alone(params))
        return c->cipher->cpu.set_ctx_params(c->hot.cpu, params);
    if (!read_params(c, params, &read))
        return 0;
    int ok = context_end_ahead(c);
    ok = c->cipher->cpu.set_ctx_params(c->hot.cpu, params) && ok;
    /* Some may have been set where others were refused. */
    ok = apply_params(c, &read) && ok;
    context_set_thresholds(c);
    return ok;
}

/* ---- Getting ------------------------------------------------------------------------- */

/*
 * Gives the application a pointer to the IV in the CPU's context, as the default provider does. It
 * shows the IV after each update, and what is written there is the IV of the next one. So
 * that context must never be behind: there is no more reading ahead.
 */
static int lend_iv(struct blocks_context *c)
{
    int ok = context_end_ahead(c);
    c->state.iv_lent = 1;
    context_set_thresholds(c);
    return ok;
}

int blocks_get_params(void *context, OSSL_PARAM params[])
{
    struct blocks_context *c = context;
    if (cpu_get_length(&c->cipher->cpu, params))
        return 1;
    const OSSL_PARAM *iv = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    int lends = iv != NULL && iv->data_type == OSSL_PARAM_OCTET_PTR && !c->state.iv_lent;
    if ((c->state.chained || c->state.lost) && iv != NULL && !blocks_stream_sync(c))
        return 0;
    return (!lends || lend_iv(c)) && context_sync_ahead(c) &&
           c->cipher->cpu.get_ctx_params(c->hot.cpu, params) &&
           ((c->cipher->flags & CIPHER_DEVICE_PARAMS) == 0 ||
            device_params_write(params, c->state.device_memory,
                                c->stream.binding != NULL ? &c->stream.handle : NULL));
}

/* ---- The end -------------------------------------------------------------------------- */

int blocks_final(void *context, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    struct blocks_context *c = context;
    if (c->cipher->flags & CIPHER_UNITS) /* another may follow */
        return c->cipher->cpu.final(c->hot.cpu, out, out_bytes, outsize);
    c->state.finished = 1;
    /* The thresholds may stay: an update that takes the long way asks whether it is finished. */
    if (is_settled(c))
        return c->cipher->cpu.final(c->hot.cpu, out, out_bytes, outsize);
    int ok = context_end_ahead(c);
    context_set_thresholds(c);
    if (!ok || !blocks_stream_check(c))
        return 0;
    if (c->state.device_memory)
        return blocks_device_final(c, out, out_bytes, outsize);
    return c->cipher->cpu.final(c->hot.cpu, out, out_bytes, outsize);
}
