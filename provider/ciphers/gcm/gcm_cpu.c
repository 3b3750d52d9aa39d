/*
 * Text by the default provider's CTR, hashes by its GCM.
 *
 * A message of additional data alone has the tag mask + (hash(data) + lengths) H; sums are
 * exclusive ors. So a context of the default provider hashes what is given to it as additional data
 * of messages with an IV whose mask is known. It has no other use, and the application cannot reach
 * it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_cpu.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "base/counter.h"
#include "base/gcm.h"
#include "base/minmax.h"

/* What the default provider takes as an IV, and more. */
enum { IV_MOST = 256 };

static void add(unsigned char sum[GPUAES_BLOCK], const unsigned char block[GPUAES_BLOCK])
{
    for (int i = 0; i < GPUAES_BLOCK; i++)
        sum[i] ^= block[i];
}

/* ---- The default provider's contexts -------------------------------------------------- */

static int get_iv(const struct gcm_context *c, unsigned char iv[IV_MOST], size_t *iv_bytes)
{
    OSSL_PARAM length[] = {OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_IVLEN, iv_bytes),
                           OSSL_PARAM_construct_end()};
    if (!c->cipher->cpu.get_ctx_params(c->cpu, length) || *iv_bytes == 0 || *iv_bytes > IV_MOST)
        return 0;
    OSSL_PARAM octets[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_IV, iv, *iv_bytes),
                           OSSL_PARAM_construct_end()};
    return c->cipher->cpu.get_ctx_params(c->cpu, octets);
}

/* Tags are given to a decryption, and got from an encryption. */
static int turn(struct gcm_context *c, int encrypting)
{
    const struct cpu_cipher *cpu = &c->cipher->cpu;
    return (encrypting ? cpu->encrypt_init : cpu->decrypt_init)(c->cpu, NULL, 0, NULL, 0, NULL);
}

int gcm_cpu_put_tag(struct gcm_context *c, const unsigned char *tag, size_t bytes)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, (void *)tag, bytes),
        OSSL_PARAM_construct_end()};
    return turn(c, 0) && c->cipher->cpu.set_ctx_params(c->cpu, params) && turn(c, c->encrypting);
}

/* 0 also where there is none; the length is what the context says then. */
static int get_tag(struct gcm_context *c, unsigned char tag[GPUAES_BLOCK], size_t *bytes)
{
    OSSL_PARAM length[] = {OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, bytes),
                           OSSL_PARAM_construct_end()};
    *bytes = GPUAES_BLOCK;
    if (!c->cipher->cpu.get_ctx_params(c->cpu, length) || *bytes > GPUAES_BLOCK)
        return 0;
    OSSL_PARAM octets[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, GPUAES_BLOCK),
        OSSL_PARAM_construct_end()};
    return turn(c, 1) && c->cipher->cpu.get_ctx_params(c->cpu, octets) && turn(c, c->encrypting);
}

int gcm_cpu_get_tag(struct gcm_context *c, unsigned char tag[GPUAES_BLOCK], size_t *bytes)
{
    (void)ERR_set_mark();
    int ok = get_tag(c, tag, bytes);
    (void)ERR_pop_to_mark();
    return turn(c, c->encrypting) && ok;
}

static const unsigned char nothing[1];

/* Gives it no additional data, so that it takes the IV that was given or makes one. */
static int take_iv(struct gcm_context *c)
{
    size_t written = 0;
    return c->cipher->cpu.cipher(c->cpu, NULL, &written, 0, nothing, 0);
}

/*
 * Ends its message without making a tag: a wrong record of TLS ends a message in every OpenSSL 3,
 * which refuses text from then on, until it has a new IV. The header of this record says that it
 * has no bytes, and none come. The header is put where a tag is, also one of an earlier message, so
 * all of it is put back: an application reads more of a tag than it gave. Returns 0 where text is
 * not refused.
 */
static int end_message(struct gcm_context *c)
{
    unsigned char header[EVP_AEAD_TLS1_AAD_LEN] = {0}, tag[GPUAES_BLOCK];
    size_t tag_bytes;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, header, sizeof header),
        OSSL_PARAM_construct_end()};
    int has_tag = gcm_cpu_get_tag(c, tag, &tag_bytes);
    (void)ERR_set_mark();
    (void)c->cipher->cpu.set_ctx_params(c->cpu, params);
    (void)take_iv(c);
    int ok = (!has_tag ||
              (gcm_cpu_put_tag(c, tag, GPUAES_BLOCK) && gcm_cpu_put_tag(c, tag, tag_bytes))) &&
             !take_iv(c);
    (void)ERR_pop_to_mark();
    return ok;
}

/* Begins CTR at a counter block, with this message's key. */
static int begin_ctr(struct gcm_context *c, const unsigned char counter[GPUAES_BLOCK])
{
    const struct cpu_cipher *ctr = &c->cipher->helper;
    if (c->ctr != NULL)
        return ctr->encrypt_init(c->ctr, c->key, c->cipher->key_bytes, counter, GPUAES_BLOCK, NULL);
    c->ctr = ctr->newctx(c->provider->cpu.context);
    return c->ctr != NULL && begin_ctr(c, counter);
}

/* ---- Parameters ------------------------------------------------------------------------ */

/*
 * Sets *counts to whether the message's context counts IVs: one that does takes the rest of an IV,
 * here all of its own, and begins a message, which is ended in turn. An encryption never takes it.
 */
static int learn_counting(struct gcm_context *c, unsigned char *iv, size_t iv_bytes, int *counts)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, iv, iv_bytes),
        OSSL_PARAM_construct_end()};
    *counts = c->cipher->cpu.set_ctx_params(c->cpu, params);
    return !*counts || end_message(c);
}

/* Has a context count IVs: a fixed part of -1 bytes is the whole of an IV. */
static int begin_counting(const struct cpu_cipher *cpu, void *context, unsigned char *iv)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, iv, (size_t)-1),
        OSSL_PARAM_construct_end()};
    return cpu->set_ctx_params(context, params);
}

/* The keystream from the second byte of a message on, in whose middle parameters are set. */
static int stream_after(const struct gcm_context *c, unsigned char *iv, size_t iv_bytes, int counts,
                        const OSSL_PARAM params[], unsigned char stream[GPUAES_BLOCK])
{
    const struct cpu_cipher *cpu = &c->cipher->cpu;
    size_t written;
    void *context = cpu->newctx(c->provider->cpu.context);
    if (context == NULL)
        return 0;
    memset(stream, 0, GPUAES_BLOCK);
    int ok = cpu_set_size(cpu, context, OSSL_CIPHER_PARAM_IVLEN, iv_bytes) &&
             (!counts || begin_counting(cpu, context, iv)) &&
             (c->encrypting ? cpu->encrypt_init : cpu->decrypt_init)(
                 context, c->key, c->cipher->key_bytes, iv, iv_bytes, NULL) &&
             cpu->update(context, stream, &written, GPUAES_BLOCK, stream, 1);
    if (ok && params != NULL)
        (void)cpu->set_ctx_params(context, params);
    memset(stream, 0, GPUAES_BLOCK);
    ok = ok && cpu->update(context, stream, &written, GPUAES_BLOCK, stream, GPUAES_BLOCK);
    cpu->freectx(context);
    return ok;
}

int gcm_cpu_goes_on(struct gcm_context *c, const OSSL_PARAM params[])
{
    unsigned char iv[IV_MOST], plain[GPUAES_BLOCK], changed[GPUAES_BLOCK];
    size_t iv_bytes = 0;
    int counts;
    (void)ERR_set_mark();
    int ok = get_iv(c, iv, &iv_bytes) && learn_counting(c, iv, iv_bytes, &counts) &&
             stream_after(c, iv, iv_bytes, counts, NULL, plain) &&
             stream_after(c, iv, iv_bytes, counts, params, changed) &&
             memcmp(plain, changed, GPUAES_BLOCK) == 0;
    (void)ERR_pop_to_mark();
    OPENSSL_cleanse(plain, sizeof plain);
    OPENSSL_cleanse(changed, sizeof changed);
    return ok;
}

int gcm_cpu_has_begun(struct gcm_context *c)
{
    (void)ERR_set_mark();
    int ok = take_iv(c);
    (void)ERR_pop_to_mark();
    return ok;
}

/* ---- The counter ----------------------------------------------------------------------- */

int gcm_cpu_stream(struct gcm_context *c, unsigned char counter[GPUAES_BLOCK],
                   unsigned char stream[GPUAES_BLOCK])
{
    size_t written;
    memset(stream, 0, GPUAES_BLOCK);
    if (!begin_ctr(c, counter) ||
        !c->cipher->helper.update(c->ctr, stream, &written, GPUAES_BLOCK, stream, GPUAES_BLOCK))
        return 0;
    counter_add(counter, COUNTER_GCM, 1);
    return 1;
}

int gcm_cpu_take(struct gcm_context *c, unsigned char mask[GPUAES_BLOCK],
                 unsigned char counter[GPUAES_BLOCK])
{
    unsigned char iv[IV_MOST];
    size_t iv_bytes = 0;
    if (gcm_schedule(c) == NULL || !take_iv(c) || !get_iv(c, iv, &iv_bytes))
        return 0;
    gcm_first_counter(gpuaes_gcm_hash, gcm_schedule(c), iv, iv_bytes, counter);
    return gcm_cpu_stream(c, counter, mask) && end_message(c);
}

/* ---- Text ------------------------------------------------------------------------------ */

/* CTR of the default provider counts in 128 bits: it begins again where 32 bits end. */
static int crypt(struct gcm_context *c, const unsigned char counter[GPUAES_BLOCK],
                 const unsigned char *in, unsigned char *out, size_t bytes)
{
    unsigned char next[GPUAES_BLOCK];
    size_t written;
    memcpy(next, counter, sizeof next);
    while (bytes != 0) {
        size_t n = min_u64(bytes, counter_until_wrap(next) * GPUAES_BLOCK);
        if (!begin_ctr(c, next) || !c->cipher->helper.update(c->ctr, out, &written, n, in, n))
            return 0;
        counter_add(next, COUNTER_GCM, n / GPUAES_BLOCK);
        in += n;
        out += n;
        bytes -= n;
    }
    return 1;
}

/* The tag of a message of additional data alone, in the context that hashes. */
static int make_tag(struct gcm_context *c, const unsigned char *data, size_t bytes,
                    unsigned char tag[GPUAES_BLOCK])
{
    static const unsigned char iv[GCM_USUAL_IV];
    const struct cpu_cipher *cpu = &c->cipher->cpu;
    size_t written = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, GPUAES_BLOCK),
        OSSL_PARAM_construct_end()};
    return cpu->encrypt_init(c->hash, NULL, 0, iv, sizeof iv, NULL) &&
           (bytes == 0 || cpu->cipher(c->hash, NULL, &written, bytes, data, bytes)) &&
           cpu->final(c->hash, NULL, &written, 0) && cpu->get_ctx_params(c->hash, params);
}

/* The tag of nothing is the mask. */
static int begin_hash(struct gcm_context *c)
{
    const struct cpu_cipher *cpu = &c->cipher->cpu;
    if (c->hash != NULL)
        return 1;
    c->hash = cpu->newctx(c->provider->cpu.context);
    if (c->hash != NULL &&
        cpu->encrypt_init(c->hash, c->key, c->cipher->key_bytes, NULL, 0, NULL) &&
        make_tag(c, NULL, 0, c->hash_mask))
        return 1;
    if (c->hash != NULL)
        cpu->freectx(c->hash);
    c->hash = NULL;
    return 0;
}

/* Adds whole blocks, one or more, to a hash. */
static int add_to_hash(struct gcm_context *c, unsigned char hash[GPUAES_BLOCK],
                       const unsigned char *text, size_t bytes)
{
    unsigned char own[GPUAES_BLOCK], last[GPUAES_BLOCK], product[GPUAES_BLOCK] = {0};
    size_t first = bytes - GPUAES_BLOCK;
    if (!begin_hash(c) || !make_tag(c, text, first, own))
        return 0;
    /* own + mask = (hash(all but the last block) + lengths) H, and the last block is to be added
     * in the place of the lengths. */
    gcm_write_lengths(last, first, 0);
    add(last, text + first);
    gpuaes_gcm_hash(gcm_schedule(c), product, last, sizeof last);
    add(own, c->hash_mask);
    add(own, product);
    gpuaes_gcm_join(gcm_schedule(c), hash, own, bytes / GPUAES_BLOCK);
    OPENSSL_cleanse(own, sizeof own);
    OPENSSL_cleanse(product, sizeof product);
    return 1;
}

int gcm_cpu_blocks(struct gcm_context *c, struct gpuaes_gcm_state *state, const unsigned char *in,
                   unsigned char *out, size_t bytes)
{
    enum { PIECE = 128 << 10 }; /* it stays in the caches between cipher and hash */
    while (bytes != 0) {
        size_t n = min_u64(bytes, PIECE);
        if (!c->encrypting && !add_to_hash(c, state->hash, in, n))
            return 0;
        if (!crypt(c, state->counter, in, out, n) ||
            (c->encrypting && !add_to_hash(c, state->hash, out, n)))
            return 0;
        counter_add(state->counter, COUNTER_GCM, n / GPUAES_BLOCK);
        in += n;
        out += n;
        bytes -= n;
    }
    return 1;
}
