/*
 * AES-XTS: contexts, and what EVP calls.
 *
 * The default provider accepts or refuses; we remember what a device needs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/xts/xts.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <string.h>

#include "provider/ciphers/xts/data_unit.h"

/* ---- Contexts -------------------------------------------------------------------------- */

void *xts_new(struct provider *provider, const struct cipher *cipher)
{
    struct xts_context *c = OPENSSL_zalloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->cpu = cipher->cpu.newctx(provider->cpu.context);
    if (c->cpu == NULL) {
        OPENSSL_free(c);
        return NULL;
    }
    c->cpu_update = cipher->cpu.update;
    c->cpu_cipher = cipher->cpu.cipher;
    c->cpu_init[0] = cipher->cpu.decrypt_init;
    c->cpu_init[1] = cipher->cpu.encrypt_init;
    c->cipher = cipher;
    c->provider = provider;
    totals_begin(&c->totals);
    xts_set_thresholds(c);
    policy_context_created(provider);
    return c;
}

static void forget_key(struct xts_context *c)
{
    if (c->expanded)
        OPENSSL_cleanse(&c->schedule, sizeof c->schedule);
    OPENSSL_cleanse(c->key, sizeof c->key);
    c->expanded = 0;
}

void xts_free(void *context)
{
    struct xts_context *c = context;
    if (c == NULL)
        return;
    totals_flush(&c->totals);
    c->cipher->cpu.freectx(c->cpu);
    /* All that is secret: overwriting the rest would show in short units. */
    forget_key(c);
    OPENSSL_free(c);
}

/* A new context with the same IV. The direction comes with the key. */
static void *copy_keyless(const struct xts_context *c)
{
    void *iv = NULL, *copy = c->cipher->cpu.newctx(c->provider->cpu.context);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_UPDATED_IV, &iv, GPUAES_BLOCK),
        OSSL_PARAM_construct_end()};
    if (copy == NULL || !c->has_iv)
        return copy;
    if (c->cipher->cpu.get_ctx_params(c->cpu, params) && iv != NULL &&
        c->cipher->cpu.encrypt_init(copy, NULL, 0, iv, GPUAES_BLOCK, NULL))
        return copy;
    c->cipher->cpu.freectx(copy);
    return NULL;
}

/* The default provider's copy of a context without a key takes itself to have one, and crashes. */
void *xts_copy(void *context)
{
    const struct xts_context *c = context;
    struct xts_context *copy = OPENSSL_memdup(c, sizeof *c);
    if (copy == NULL)
        return NULL;
    copy->cpu = c->cpu_has_key ? c->cipher->cpu.dupctx(c->cpu) : copy_keyless(c);
    totals_begin(&copy->totals);
    if (copy->cpu != NULL)
        return copy;
    OPENSSL_clear_free(copy, sizeof *copy);
    return NULL;
}

/* ---- Initialisation ---------------------------------------------------------------------- */

static void note_key(struct xts_context *c, const unsigned char *key)
{
    size_t half = c->cipher->key_bytes;
    forget_key(c);
    c->has_key = c->cpu_has_key = 1;
    c->key_encrypting = c->encrypting;
    memcpy(c->key[0], key, half);
    memcpy(c->key[1], key + half, half);
    xts_set_thresholds(c);
}

/* The parameters by themselves, after the key: it is taken also if they are refused. */
static int init_key(struct xts_context *c, OSSL_FUNC_cipher_encrypt_init_fn *function,
                    const unsigned char *key, size_t key_bytes, const unsigned char *iv,
                    size_t iv_bytes, const OSSL_PARAM params[])
{
    int ok = function(c->cpu, key, key_bytes, iv, iv_bytes, NULL);
    if (ok)
        note_key(c, key);
    else
        c->has_key = 0; /* which key the CPU has now is not known */
    return ok && (params == NULL || c->cipher->cpu.set_ctx_params(c->cpu, params));
}

/* With a tweak alone, as before each sector, it costs next to nothing. */
static inline int init(struct xts_context *c, int encrypting,
                       OSSL_FUNC_cipher_encrypt_init_fn *function, const unsigned char *key,
                       size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                       const OSSL_PARAM params[])
{
    c->encrypting = encrypting;
    c->has_iv |= iv != NULL && iv_bytes == GPUAES_BLOCK; /* also if the key is refused */
    if (key != NULL)
        return init_key(c, function, key, key_bytes, iv, iv_bytes, params);
    return function(c->cpu, NULL, 0, iv, iv_bytes, params);
}

int xts_encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                     const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return init(c, 1, c->cpu_init[1], key, key_bytes, iv, iv_bytes, params);
}

int xts_decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                     const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return init(c, 0, c->cpu_init[0], key, key_bytes, iv, iv_bytes, params);
}

/* ---- Data units ---------------------------------------------------------------------------- */

/* The hot path, as in blocks_update.c. */

HOT int xts_update(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                   const unsigned char *in, size_t in_bytes)
{
    struct xts_context *c = context;
    if (__builtin_expect(in_bytes >= c->small, 0))
        return xts_unit(c, c->cpu_update, out, out_bytes, outsize, in, in_bytes);
    return c->cpu_update(c->cpu, out, out_bytes, outsize, in, in_bytes);
}

HOT int xts_cipher(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                   const unsigned char *in, size_t in_bytes)
{
    struct xts_context *c = context;
    if (__builtin_expect(in_bytes >= c->small, 0))
        return xts_unit(c, c->cpu_cipher, out, out_bytes, outsize, in, in_bytes);
    return c->cpu_cipher(c->cpu, out, out_bytes, outsize, in, in_bytes);
}

int xts_final(void *context, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    struct xts_context *c = context;
    return c->cipher->cpu.final(c->cpu, out, out_bytes, outsize);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

int xts_get_params(void *context, OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return cpu_get_length(&c->cipher->cpu, params) || c->cipher->cpu.get_ctx_params(c->cpu, params);
}

int xts_set_params(void *context, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return c->cipher->cpu.set_ctx_params(c->cpu, params);
}
