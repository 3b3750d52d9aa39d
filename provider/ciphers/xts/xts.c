/*
 * What EVP calls.
 *
 * The default provider accepts or refuses; we remember what a device needs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/xts/xts.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <pthread.h>
#include <string.h>

#include "provider/ciphers/xts/data_unit.h"
#include "provider/common/cipher_table.h"
#include "provider/keys/skey.h"
#include "provider/policy/policy.h"

enum {
#define XTS_ENUM(bits, names) XTS_##bits,
    XTS_CIPHERS(XTS_ENUM)
#undef XTS_ENUM
        XTS_CIPHER_COUNT
};

static struct xts_cipher ciphers[XTS_CIPHER_COUNT] = {
#define XTS_INITIAL(bits, names) [XTS_##bits] = {.key_bytes = (bits) / 8},
    XTS_CIPHERS(XTS_INITIAL)
#undef XTS_INITIAL
};

CIPHER_DECLARE;
static OSSL_FUNC_cipher_update_fn update;
static OSSL_FUNC_cipher_cipher_fn cipher;
static OSSL_FUNC_cipher_final_fn final;

/* ---- What is learnt ----------------------------------------------------------------------- */

static void tell_policy(const struct xts_cipher *cipher)
{
    static const char *const names[] = {"XTS decrypt", "XTS encrypt"};
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        struct work_row *row = &work_rows[encrypts ? WORK_XTS_ENCRYPT : WORK_XTS_DECRYPT];
        row->name = names[encrypts];
        row->encrypts = encrypts;
        row->cpu[key_size_index(cipher->key_bytes)] = &cipher->cpu;
    }
}

static int learn(const struct cpu *cpu, const char *names, const char *ecb_name,
                 struct xts_cipher *cipher)
{
    if (!cpu_learn(cpu, names, &cipher->cpu, 1) || !cpu_learn(cpu, ecb_name, &cipher->ecb, 1))
        return 0;
    cipher->cpu.iv_bytes = GPUAES_BLOCK;
    cipher->cpu.key_bytes = 2 * (size_t)cipher->key_bytes;
    cipher->gettable = cipher->cpu.gettable_ctx_params(NULL, cpu->context);
    cipher->settable = cipher->cpu.settable_ctx_params(NULL, cpu->context);
    tell_policy(cipher);
    return 1;
}

int xts_learn_ciphers(const struct cpu *cpu)
{
    static const char *const names[XTS_CIPHER_COUNT][2] = {
#define XTS_NAMES(bits, names) {names, "AES-" #bits "-ECB"},
        XTS_CIPHERS(XTS_NAMES)
#undef XTS_NAMES
    };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int learnt; /* the functions are libcrypto's, the same for the whole process */
    (void)pthread_mutex_lock(&lock);
    while (learnt < XTS_CIPHER_COUNT &&
           learn(cpu, names[learnt][0], names[learnt][1], &ciphers[learnt]))
        learnt++;
    int ok = learnt == XTS_CIPHER_COUNT;
    (void)pthread_mutex_unlock(&lock);
    return ok;
}

/* ---- Contexts -------------------------------------------------------------------------- */

static struct xts_context *newctx(struct provider *provider, const struct xts_cipher *cipher)
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

static void freectx(void *context)
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
static void *dupctx(void *context)
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

static int encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return init(c, 1, c->cpu_init[1], key, key_bytes, iv, iv_bytes, params);
}

static int decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return init(c, 0, c->cpu_init[0], key, key_bytes, iv, iv_bytes, params);
}

SKEY_INITS

/* ---- Data units ---------------------------------------------------------------------------- */

/* The hot path, as in aes/update.c. */
#define HOT __attribute__((hot, aligned(64)))

HOT static int update(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                      const unsigned char *in, size_t in_bytes)
{
    struct xts_context *c = context;
    if (__builtin_expect(in_bytes >= c->small, 0))
        return xts_unit(c, c->cpu_update, out, out_bytes, outsize, in, in_bytes);
    return c->cpu_update(c->cpu, out, out_bytes, outsize, in, in_bytes);
}

HOT static int cipher(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                      const unsigned char *in, size_t in_bytes)
{
    struct xts_context *c = context;
    if (__builtin_expect(in_bytes >= c->small, 0))
        return xts_unit(c, c->cpu_cipher, out, out_bytes, outsize, in, in_bytes);
    return c->cpu_cipher(c->cpu, out, out_bytes, outsize, in, in_bytes);
}

static int final(void *context, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    struct xts_context *c = context;
    return c->cipher->cpu.final(c->cpu, out, out_bytes, outsize);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static int get_ctx_params(void *context, OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return cpu_get_length(&c->cipher->cpu, params) || c->cipher->cpu.get_ctx_params(c->cpu, params);
}

static int set_ctx_params(void *context, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return c->cipher->cpu.set_ctx_params(c->cpu, params);
}

/* ---- The tables ------------------------------------------------------------------------------ */

#define XTS_DEFINE(bits, names)                                                                    \
    CIPHER_FUNCTIONS(bits, ciphers[XTS_##bits], newctx)                                            \
    const OSSL_DISPATCH xts_##bits[] = {CIPHER_ROWS(bits),                                         \
                                        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, update),                 \
                                        FUNCTION(OSSL_FUNC_CIPHER_FINAL, final),                   \
                                        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, cipher),                 \
                                        {0, NULL}};

XTS_CIPHERS(XTS_DEFINE)
