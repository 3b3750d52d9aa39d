/*
 * The AES ciphers: contexts, initialisation and the hot path. Updates that may
 * be offloaded go to update.c.
 *
 * Whatever the default provider accepts or refuses is decided by calling it;
 * we only remember what we need to take over in mid-stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/context.h"

#include <openssl/crypto.h>
#include <string.h>

#include "provider/ciphers/aes/cuda_stream.h"
#include "provider/ciphers/aes/device_memory.h"
#include "provider/ciphers/aes/parameters.h"
#include "provider/ciphers/aes/pipeline.h"
#include "provider/ciphers/aes/read_ahead.h"
#include "provider/keys/skey.h"
#include "provider/ciphers/aes/update.h"
#include "provider/common/offload.h"
#include "provider/common/statistics.h"
#include "provider/policy/policy.h"

static OSSL_FUNC_cipher_dupctx_fn aes_dupctx;
static OSSL_FUNC_cipher_encrypt_init_fn aes_encrypt_init;
static OSSL_FUNC_cipher_decrypt_init_fn aes_decrypt_init;
static cipher_skey_init_fn aes_encrypt_skey_init;
static cipher_skey_init_fn aes_decrypt_skey_init;
static OSSL_FUNC_cipher_cipher_fn aes_cipher;
static OSSL_FUNC_cipher_get_ctx_params_fn aes_get_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn aes_set_ctx_params;

/* ---- Contexts -------------------------------------------------------------------- */

static void *aes_newctx(struct provider *provider, enum aes_mode mode, unsigned key_bytes)
{
    struct aes_context *c = OPENSSL_zalloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->functions = cpu_cipher(mode, key_bytes);
    c->cpu = c->functions->newctx(provider->cpu.context);
    if (c->cpu == NULL) {
        OPENSSL_free(c);
        return NULL;
    }
    c->cpu_update = c->functions->update;
    c->cpu_cipher = c->functions->cipher;
    c->provider = provider;
    c->mode = mode;
    c->key_bytes = key_bytes;
    totals_begin(&c->totals);
    aes_update_thresholds(c);
    policy_context_created(provider);
    return c;
}

void aes_count_own(struct aes_context *c, size_t bytes)
{
    if (totals_forget(&c->totals))
        c->countdown = c->armed - (int64_t)bytes;
}

/* Hands what was counted to the statistics of the process. */
static void flush_totals(struct aes_context *c)
{
    aes_count_own(c, 0);
    (void)aes_add_to_totals(c, 0);
    totals_flush(&c->totals);
}

void aes_freectx(void *context)
{
    struct aes_context *c = context;
    if (c == NULL)
        return;
    aes_pipeline_end(c);
    (void)aes_read_ahead_end(c);
    flush_totals(c);
    aes_stream_unbind(c);
    c->functions->freectx(c->cpu);
    OPENSSL_clear_free(c, sizeof *c);
}

struct aes_context *aes_copy_context(const struct aes_context *c)
{
    struct aes_context *copy = OPENSSL_memdup(c, sizeof *c);
    if (copy == NULL)
        return NULL;
    copy->cpu = c->functions->dupctx(c->cpu);
    if (copy->cpu == NULL) {
        OPENSSL_clear_free(copy, sizeof *copy);
        return NULL;
    }
    /* What was counted is the original's, which others may be copying too. */
    copy->countdown = copy->armed;
    totals_begin(&copy->totals);
    copy->iv_lent = 0;
    copy->pipeline = NULL;
    if (!aes_read_ahead_copy(copy, c) || !aes_stream_copy(copy, c)) {
        aes_freectx(copy);
        return NULL;
    }
    return copy;
}

static void *aes_dupctx(void *context)
{
    const struct aes_context *c = context;
    struct aes_context *copy = aes_copy_context(c);
    if (copy == NULL || aes_pipeline_copy(copy, c))
        return copy;
    aes_freectx(copy);
    return NULL;
}

/* ---- Initialisation --------------------------------------------------------------- */

static void forget_key(struct aes_context *c)
{
    if (c->expanded)
        OPENSSL_cleanse(&c->schedule, sizeof c->schedule);
    OPENSSL_cleanse(c->key, sizeof c->key);
    c->expanded = c->has_key = 0;
}

static void note_key(struct aes_context *c, const unsigned char *key)
{
    forget_key(c);
    c->has_key = 1;
    c->key_encrypting = c->encrypting;
    memcpy(c->key, key, c->key_bytes);
}

int aes_init(struct aes_context *c, int encrypting, const unsigned char *key, size_t key_bytes,
             const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        encrypting ? c->functions->encrypt_init : c->functions->decrypt_init;
    /* Without one, CBC begins again with the original IV, and CTR goes on with its counter. */
    int takes_iv = c->mode != AES_ECB && iv != NULL && iv_bytes == GPUAES_BLOCK;
    int repeats_iv = c->mode == AES_CBC && iv == NULL && c->has_iv;
    if (!aes_check_params(c, params))
        return 0;
    int ok = aes_read_ahead_end(c);
    aes_read_ahead_forget_run(c);
    flush_totals(c);
    c->encrypting = encrypting;
    ok = init(c->cpu, key, key_bytes, iv, iv_bytes, params) && ok;
    /* An IV is taken first, whatever is refused after it; then the key. */
    if (takes_iv || repeats_iv) {
        c->has_iv = 1;
        c->stream.chained = c->stream.lost = 0;
    }
    if (ok && key != NULL)
        note_key(c, key);
    else if (!ok)
        forget_key(c); /* which key the CPU has now is not known */
    c->finished = c->stays_on_cpu = 0;
    ok = aes_apply_params(c, params) && ok;
    aes_update_thresholds(c);
    return ok;
}

static int aes_encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                            const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    aes_pipeline_end(context);
    return aes_init(context, 1, key, key_bytes, iv, iv_bytes, params);
}

static int aes_decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                            const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    aes_pipeline_end(context);
    return aes_init(context, 0, key, key_bytes, iv, iv_bytes, params);
}

/* NULL: the key stays as it is, and the IV or the parameters are new. */
static int skey_init(void *context, int encrypting, const struct skey *key, const unsigned char *iv,
                     size_t iv_bytes, const OSSL_PARAM params[])
{
    aes_pipeline_end(context);
    return key == NULL
               ? aes_init(context, encrypting, NULL, 0, iv, iv_bytes, params)
               : aes_init(context, encrypting, key->bytes, key->length, iv, iv_bytes, params);
}

static int aes_encrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                                 const OSSL_PARAM params[])
{
    return skey_init(context, 1, key, iv, iv_bytes, params);
}

static int aes_decrypt_skey_init(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                                 const OSSL_PARAM params[])
{
    return skey_init(context, 0, key, iv, iv_bytes, params);
}

/* ---- Data --------------------------------------------------------------------------- */

static int read_ahead(struct aes_context *c, unsigned char *out, size_t *out_bytes, size_t room,
                      const unsigned char *in, size_t in_bytes, int oneshot)
{
    struct call call = {.out = out,
                        .out_bytes = out_bytes,
                        .room = room,
                        .in = in,
                        .in_bytes = in_bytes,
                        .oneshot = oneshot};
    return aes_read_ahead_update(c, &call);
}

/*
 * From 1 KiB on, where that does not show, updates are counted. By themselves: inlined, they would
 * give the hot path their stack frame, and its protection.
 */
#define COLD __attribute__((noinline))

COLD static int counted_update(struct aes_context *c, unsigned char *out, size_t *out_bytes,
                               size_t room, const unsigned char *in, size_t in_bytes)
{
    if (c->keystream != NULL)
        return read_ahead(c, out, out_bytes, room, in, in_bytes, 0);
    c->countdown -= (int64_t)in_bytes;
    if (c->countdown >= 0 && in_bytes < c->large)
        return c->cpu_update(c->cpu, out, out_bytes, room, in, in_bytes);
    return aes_update_large(c, out, out_bytes, room, in, in_bytes);
}

COLD static int counted_cipher(struct aes_context *c, unsigned char *out, size_t *out_bytes,
                               size_t room, const unsigned char *in, size_t in_bytes)
{
    if (c->keystream != NULL)
        return read_ahead(c, out, out_bytes, room, in, in_bytes, 1);
    c->countdown -= (int64_t)in_bytes;
    if (c->countdown >= 0 && in_bytes < c->large)
        return c->cpu_cipher(c->cpu, out, out_bytes, room, in, in_bytes);
    return aes_cipher_large(c, out, out_bytes, room, in, in_bytes);
}

/*
 * The hot path: a compare, and a jump into the default provider. One block takes
 * that 40 cycles in all, so every instruction here shows; hence also the
 * alignment to a line of the instruction cache.
 */
#define HOT __attribute__((hot, aligned(64)))

HOT int aes_update(void *context, unsigned char *out, size_t *out_bytes, size_t room,
                   const unsigned char *in, size_t in_bytes)
{
    struct aes_context *c = context;
    if (__builtin_expect(in_bytes >= c->small, 0))
        return counted_update(c, out, out_bytes, room, in, in_bytes);
    return c->cpu_update(c->cpu, out, out_bytes, room, in, in_bytes);
}

HOT static int aes_cipher(void *context, unsigned char *out, size_t *out_bytes, size_t room,
                          const unsigned char *in, size_t in_bytes)
{
    struct aes_context *c = context;
    if (__builtin_expect(in_bytes >= c->small, 0))
        return counted_cipher(c, out, out_bytes, room, in, in_bytes);
    return c->cpu_cipher(c->cpu, out, out_bytes, room, in, in_bytes);
}

int aes_final(void *context, unsigned char *out, size_t *out_bytes, size_t room)
{
    struct aes_context *c = context;
    if (!aes_pipeline_check(c))
        return 0;
    int ok = aes_read_ahead_end(c);
    c->finished = 1;
    aes_update_thresholds(c);
    if (!ok || !aes_stream_check(c))
        return 0;
    if (c->device_memory)
        return aes_device_final(c, out, out_bytes, room);
    return c->functions->final(c->cpu, out, out_bytes, room);
}

static int aes_get_ctx_params(void *context, OSSL_PARAM params[])
{
    return aes_get_params(context, params);
}

static int aes_set_ctx_params(void *context, const OSSL_PARAM params[])
{
    return aes_set_params(context, params);
}

/* ---- The matrix ------------------------------------------------------------------------ */

/* What has no context to find the cipher by. */
#define AES_DEFINE(bits, MODE, mode, names)                                                        \
    static OSSL_FUNC_cipher_newctx_fn aes_##bits##_##mode##_newctx;                                \
    static OSSL_FUNC_cipher_get_params_fn aes_##bits##_##mode##_get_params;                        \
    static OSSL_FUNC_cipher_gettable_params_fn aes_##bits##_##mode##_gettable_params;              \
    static OSSL_FUNC_cipher_gettable_ctx_params_fn aes_##bits##_##mode##_gettable_ctx_params;      \
    static OSSL_FUNC_cipher_settable_ctx_params_fn aes_##bits##_##mode##_settable_ctx_params;      \
    static void *aes_##bits##_##mode##_newctx(void *provider)                                      \
    {                                                                                              \
        return aes_newctx(provider, AES_##MODE, (bits) / 8);                                       \
    }                                                                                              \
    static int aes_##bits##_##mode##_get_params(OSSL_PARAM params[])                               \
    {                                                                                              \
        return cpu_cipher(AES_##MODE, (bits) / 8)->get_params(params);                             \
    }                                                                                              \
    static const OSSL_PARAM *aes_##bits##_##mode##_gettable_params(void *provider)                 \
    {                                                                                              \
        struct provider *p = provider;                                                             \
        return cpu_cipher(AES_##MODE, (bits) / 8)->gettable_params(p->cpu.context);                \
    }                                                                                              \
    static const OSSL_PARAM *aes_##bits##_##mode##_gettable_ctx_params(void *context,              \
                                                                       void *provider)             \
    {                                                                                              \
        (void)context;                                                                             \
        return aes_gettable_params(provider, AES_##MODE, (bits) / 8);                              \
    }                                                                                              \
    static const OSSL_PARAM *aes_##bits##_##mode##_settable_ctx_params(void *context,              \
                                                                       void *provider)             \
    {                                                                                              \
        (void)context;                                                                             \
        return aes_settable_params(provider, AES_##MODE, (bits) / 8);                              \
    }                                                                                              \
    const OSSL_DISPATCH aes_##bits##_##mode[] = {                                                  \
        FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, aes_##bits##_##mode##_newctx),                           \
        FUNCTION(OSSL_FUNC_CIPHER_FREECTX, aes_freectx),                                           \
        FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, aes_dupctx),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, aes_encrypt_init),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, aes_decrypt_init),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, aes_update),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, aes_final),                                               \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, aes_cipher),                                             \
        FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, aes_##bits##_##mode##_get_params),                   \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, aes_##bits##_##mode##_gettable_params),         \
        FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, aes_get_ctx_params),                             \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, aes_##bits##_##mode##_gettable_ctx_params), \
        FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, aes_set_ctx_params),                             \
        FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, aes_##bits##_##mode##_settable_ctx_params), \
        FUNCTION(CIPHER_ENCRYPT_SKEY_INIT, aes_encrypt_skey_init),                                 \
        FUNCTION(CIPHER_DECRYPT_SKEY_INIT, aes_decrypt_skey_init),                                 \
        FUNCTION(PIPELINE_ENCRYPT_INIT, aes_pipeline_encrypt_init),                                \
        FUNCTION(PIPELINE_DECRYPT_INIT, aes_pipeline_decrypt_init),                                \
        FUNCTION(PIPELINE_UPDATE, aes_pipeline_update),                                            \
        FUNCTION(PIPELINE_FINAL, aes_pipeline_final),                                              \
        {0, NULL}};

AES_CIPHERS(AES_DEFINE)
