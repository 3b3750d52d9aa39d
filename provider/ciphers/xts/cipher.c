/*
 * What EVP calls, handed to the default provider's context, and bytes counted.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/xts/cipher.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <pthread.h>
#include <string.h>

#include "cuda/gpuaes.h"
#include "provider/common/provider.h"
#include "provider/common/statistics.h"
#include "provider/keys/skey.h"
#include "provider/policy/calibration.h"

/* It takes no device to do updates of fewer bytes, and no figures. */
enum { COUNTED = 1024 };

enum {
#define XTS_ENUM(bits, names) XTS_##bits,
    XTS_CIPHERS(XTS_ENUM)
#undef XTS_ENUM
        XTS_CIPHER_COUNT
};

/* The default provider's functions. */
static struct cpu_cipher learnt_ciphers[XTS_CIPHER_COUNT];

struct xts_context {
    void *cpu; /* the default provider's, which has the whole state */
    OSSL_FUNC_cipher_update_fn *cpu_update;
    OSSL_FUNC_cipher_cipher_fn *cpu_cipher;
    const struct cpu_cipher *functions;
    struct provider *provider;
    struct totals totals;
    int has_key, has_iv;
};

static OSSL_FUNC_cipher_freectx_fn freectx;
static OSSL_FUNC_cipher_dupctx_fn dupctx;
static OSSL_FUNC_cipher_encrypt_init_fn encrypt_init;
static OSSL_FUNC_cipher_decrypt_init_fn decrypt_init;
static cipher_skey_init_fn encrypt_skey_init;
static cipher_skey_init_fn decrypt_skey_init;
static OSSL_FUNC_cipher_update_fn update;
static OSSL_FUNC_cipher_cipher_fn cipher;
static OSSL_FUNC_cipher_final_fn final;
static OSSL_FUNC_cipher_get_ctx_params_fn get_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn set_ctx_params;

int xts_learn_ciphers(const struct cpu *cpu)
{
    static const char *const names[XTS_CIPHER_COUNT] = {
#define XTS_NAMES(bits, names) names,
        XTS_CIPHERS(XTS_NAMES)
#undef XTS_NAMES
    };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int learnt; /* the functions are libcrypto's, the same for the whole process */
    (void)pthread_mutex_lock(&lock);
    while (learnt < XTS_CIPHER_COUNT && cpu_learn(cpu, names[learnt], &learnt_ciphers[learnt]))
        learnt_ciphers[learnt++].iv_bytes = GPUAES_BLOCK;
    int ok = learnt == XTS_CIPHER_COUNT;
    (void)pthread_mutex_unlock(&lock);
    return ok;
}

/* ---- Contexts -------------------------------------------------------------------------- */

static struct xts_context *newctx(struct provider *provider, const struct cpu_cipher *functions)
{
    struct xts_context *c = OPENSSL_zalloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->cpu = functions->newctx(provider->cpu.context);
    if (c->cpu == NULL) {
        OPENSSL_free(c);
        return NULL;
    }
    c->cpu_update = functions->update;
    c->cpu_cipher = functions->cipher;
    c->functions = functions;
    c->provider = provider;
    totals_begin(&c->totals);
    return c;
}

static void freectx(void *context)
{
    struct xts_context *c = context;
    if (c == NULL)
        return;
    totals_flush(&c->totals);
    c->functions->freectx(c->cpu);
    OPENSSL_free(c);
}

/* A new context with the same IV. The direction comes with the key. */
static void *copy_keyless(const struct xts_context *c)
{
    void *iv = NULL, *copy = c->functions->newctx(c->provider->cpu.context);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_UPDATED_IV, &iv, GPUAES_BLOCK),
        OSSL_PARAM_construct_end()};
    if (copy == NULL || !c->has_iv)
        return copy;
    if (c->functions->get_ctx_params(c->cpu, params) && iv != NULL &&
        c->functions->encrypt_init(copy, NULL, 0, iv, GPUAES_BLOCK, NULL))
        return copy;
    c->functions->freectx(copy);
    return NULL;
}

/* The default provider's copy of a context without a key takes itself to have one, and crashes. */
static void *dupctx(void *context)
{
    const struct xts_context *c = context;
    struct xts_context *copy = OPENSSL_memdup(c, sizeof *c);
    if (copy == NULL)
        return NULL;
    copy->cpu = c->has_key ? c->functions->dupctx(c->cpu) : copy_keyless(c);
    totals_begin(&copy->totals);
    if (copy->cpu != NULL)
        return copy;
    OPENSSL_free(copy);
    return NULL;
}

/* ---- Initialisation ---------------------------------------------------------------------- */

/* The parameters by themselves, after the key: it is taken also if they are refused. */
static int init(struct xts_context *c, OSSL_FUNC_cipher_encrypt_init_fn *function,
                const unsigned char *key, size_t key_bytes, const unsigned char *iv,
                size_t iv_bytes, const OSSL_PARAM params[])
{
    int ok = function(c->cpu, key, key_bytes, iv, iv_bytes, NULL);
    if (iv != NULL && iv_bytes == GPUAES_BLOCK) /* it is taken also if the key is refused */
        c->has_iv = 1;
    if (ok && key != NULL)
        c->has_key = 1;
    return ok && (params == NULL || c->functions->set_ctx_params(c->cpu, params));
}

static int encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return init(c, c->functions->encrypt_init, key, key_bytes, iv, iv_bytes, params);
}

static int decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                        const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return init(c, c->functions->decrypt_init, key, key_bytes, iv, iv_bytes, params);
}

/* NULL: the key stays as it is, and the IV or the parameters are new. */
static int encrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const struct skey *k = key;
    return encrypt_init(context, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,
                        iv_bytes, params);
}

static int decrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const struct skey *k = key;
    return decrypt_init(context, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,
                        iv_bytes, params);
}

/* ---- Data units ---------------------------------------------------------------------------- */

/* Large units are handed over at once: they take much longer than that. */
static void count(struct xts_context *c, size_t bytes)
{
    (void)totals_forget(&c->totals);
    c->totals.cpu_bytes[bytes < MEASURE_FLOOR ? CPU_SMALL : CPU_UNSUITED] += bytes;
    if (bytes >= MEASURE_FLOOR)
        totals_flush(&c->totals);
}

/* By itself, lest small updates get its stack frame. */
__attribute__((noinline)) static int counted_update(struct xts_context *c, unsigned char *out,
                                                    size_t *out_bytes, size_t outsize,
                                                    const unsigned char *in, size_t in_bytes,
                                                    OSSL_FUNC_cipher_update_fn *function)
{
    int ok = function(c->cpu, out, out_bytes, outsize, in, in_bytes);
    if (ok)
        count(c, in_bytes);
    return ok;
}

/* The hot path, as in aes/update.c. */
#define HOT __attribute__((hot, aligned(64)))

HOT static int update(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                      const unsigned char *in, size_t in_bytes)
{
    struct xts_context *c = context;
    if (__builtin_expect(in_bytes >= COUNTED, 0))
        return counted_update(c, out, out_bytes, outsize, in, in_bytes, c->cpu_update);
    return c->cpu_update(c->cpu, out, out_bytes, outsize, in, in_bytes);
}

HOT static int cipher(void *context, unsigned char *out, size_t *out_bytes, size_t outsize,
                      const unsigned char *in, size_t in_bytes)
{
    struct xts_context *c = context;
    if (__builtin_expect(in_bytes >= COUNTED, 0))
        return counted_update(c, out, out_bytes, outsize, in, in_bytes, c->cpu_cipher);
    return c->cpu_cipher(c->cpu, out, out_bytes, outsize, in, in_bytes);
}

static int final(void *context, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    struct xts_context *c = context;
    return c->functions->final(c->cpu, out, out_bytes, outsize);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static int get_ctx_params(void *context, OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return c->functions->get_ctx_params(c->cpu, params);
}

static int set_ctx_params(void *context, const OSSL_PARAM params[])
{
    struct xts_context *c = context;
    return c->functions->set_ctx_params(c->cpu, params);
}

/* ---- The tables ------------------------------------------------------------------------------ */

/* What has no context to find the cipher by. */
#define XTS_DEFINE(bits, names)                                                                    \
    static OSSL_FUNC_cipher_newctx_fn newctx_##bits;                                               \
    static OSSL_FUNC_cipher_get_params_fn get_params_##bits;                                       \
    static OSSL_FUNC_cipher_gettable_params_fn gettable_params_##bits;                             \
    static OSSL_FUNC_cipher_gettable_ctx_params_fn gettable_ctx_params_##bits;                     \
    static OSSL_FUNC_cipher_settable_ctx_params_fn settable_ctx_params_##bits;                     \
    static void *newctx_##bits(void *provider)                                                     \
    {                                                                                              \
        return newctx(provider, &learnt_ciphers[XTS_##bits]);                                      \
    }                                                                                              \
    static int get_params_##bits(OSSL_PARAM params[])                                              \
    {                                                                                              \
        return learnt_ciphers[XTS_##bits].get_params(params);                                      \
    }                                                                                              \
    static const OSSL_PARAM *gettable_params_##bits(void *provider)                                \
    {                                                                                              \
        return learnt_ciphers[XTS_##bits].gettable_params(                                         \
            ((struct provider *)provider)->cpu.context);                                           \
    }                                                                                              \
    static const OSSL_PARAM *gettable_ctx_params_##bits(void *context, void *provider)             \
    {                                                                                              \
        return learnt_ciphers[XTS_##bits].gettable_ctx_params(                                     \
            context == NULL ? NULL : ((struct xts_context *)context)->cpu,                         \
            ((struct provider *)provider)->cpu.context);                                           \
    }                                                                                              \
    static const OSSL_PARAM *settable_ctx_params_##bits(void *context, void *provider)             \
    {                                                                                              \
        return learnt_ciphers[XTS_##bits].settable_ctx_params(                                     \
            context == NULL ? NULL : ((struct xts_context *)context)->cpu,                         \
            ((struct provider *)provider)->cpu.context);                                           \
    }                                                                                              \
    const OSSL_DISPATCH xts_##bits[] = {                                                           \
        FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, newctx_##bits),                                          \
        FUNCTION(OSSL_FUNC_CIPHER_FREECTX, freectx),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, dupctx),                                                 \
        FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, encrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, decrypt_init),                                     \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, update),                                                 \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, final),                                                   \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, cipher),                                                 \
        FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##bits),                                  \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, gettable_params_##bits),                        \
        FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params_##bits),                \
        FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, set_ctx_params),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params_##bits),                \
        FUNCTION(CIPHER_ENCRYPT_SKEY_INIT, encrypt_skey_init),                                     \
        FUNCTION(CIPHER_DECRYPT_SKEY_INIT, decrypt_skey_init),                                     \
        {0, NULL}};

XTS_CIPHERS(XTS_DEFINE)
