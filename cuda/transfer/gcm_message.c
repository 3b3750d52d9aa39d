/*
 * Whole messages of GCM, NIST SP 800-38D section 7.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "cuda/aes/aes.h"
#include "cuda/memory/memory_kind.h"

enum { IV_BYTES = 12, ZEROS = 1 << 20 };
#define LEN_MOST (((uint64_t)1 << 36) - 32)

static int is_bad(const struct gpuaes_gcm_key *key, const struct gpuaes_gcm_message *m)
{
    if (key == NULL || m == NULL || !key_size_is_valid(key_size_of(key->schedule.rounds)))
        return 1;
    if (m->iv == NULL || m->iv_bytes == 0 || (m->aad == NULL && m->aad_bytes != 0))
        return 1;
    if (m->len > LEN_MOST || (m->len != 0 && (m->in == NULL || m->out == NULL)) ||
        (m->in != m->out && memory_overlap(m->in, m->len, m->out, m->len)))
        return 1;
    return m->tag == NULL || m->tag_bytes > GPUAES_BLOCK ||
           (m->tag_bytes < 12 && m->tag_bytes != 8 && m->tag_bytes != 4);
}

static void add_lengths(const struct gpuaes_gcm_key *key, unsigned char hash[GPUAES_BLOCK],
                        uint64_t first, uint64_t second)
{
    uint64_t bits[2] = {__builtin_bswap64(first * 8), __builtin_bswap64(second * 8)};
    gpuaes_gcm_hash(key, hash, bits, sizeof bits);
}

/* Section 7.1, steps 2 and 3: J0. */
static void first_counter(const struct gpuaes_gcm_key *key, const struct gpuaes_gcm_message *m,
                          unsigned char counter[GPUAES_BLOCK])
{
    memset(counter, 0, GPUAES_BLOCK);
    if (m->iv_bytes == IV_BYTES) {
        memcpy(counter, m->iv, IV_BYTES);
        counter[GPUAES_BLOCK - 1] = 1;
        return;
    }
    gpuaes_gcm_hash(key, counter, m->iv, m->iv_bytes);
    add_lengths(key, counter, 0, m->iv_bytes);
}

/* Memory of the CPU needs no device, which may have failed by then. */
static enum gpuaes_status copy(void *to, const void *from, size_t len)
{
    if (gpuaes_memory_kind(to, len) >= GPUAES_DEVICE ||
        gpuaes_memory_kind(from, len) >= GPUAES_DEVICE)
        return gpuaes_copy(to, from, len);
    memcpy(to, from, len);
    return GPUAES_OK;
}

/* The end of the text that is no whole block. */
static enum gpuaes_status run_rest(enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                                   struct gpuaes_gcm_state *state, const void *in, void *out,
                                   size_t len)
{
    unsigned char text[GPUAES_BLOCK], stream[GPUAES_BLOCK];
    enum gpuaes_status status = copy(text, in, len);
    if (status == GPUAES_OK) {
        if (op == GPUAES_GCM_DECRYPT)
            gpuaes_gcm_hash(key, state->hash, text, len);
        aes_encrypt_block(&key->schedule, state->counter, stream);
        for (size_t i = 0; i < len; i++)
            text[i] ^= stream[i];
        if (op == GPUAES_GCM_ENCRYPT)
            gpuaes_gcm_hash(key, state->hash, text, len);
        status = copy(out, text, len);
    }
    gpuaes_cleanse(text, sizeof text);
    gpuaes_cleanse(stream, sizeof stream);
    return status;
}

/* The text, and the tag that belongs to it. */
static enum gpuaes_status run(enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              const struct gpuaes_gcm_message *m, unsigned flags,
                              unsigned char tag[GPUAES_BLOCK])
{
    struct gpuaes_gcm_state state = {{0}, {0}};
    unsigned char mask[GPUAES_BLOCK];
    size_t whole = m->len / GPUAES_BLOCK * GPUAES_BLOCK, rest = m->len - whole;
    first_counter(key, m, state.counter);
    aes_encrypt_block(&key->schedule, state.counter, mask);
    gpuaes_modes[op]->advance(state.counter, 1, NULL);
    gpuaes_gcm_hash(key, state.hash, m->aad, m->aad_bytes);
    enum gpuaes_status status = gpuaes_gcm(op, key, &state, m->in, m->out, whole, flags, NULL);
    if (status == GPUAES_OK && rest != 0)
        status = run_rest(op, key, &state, (const unsigned char *)m->in + whole,
                          (unsigned char *)m->out + whole, rest);
    add_lengths(key, state.hash, m->aad_bytes, m->len);
    for (int i = 0; i < GPUAES_BLOCK; i++)
        tag[i] = state.hash[i] ^ mask[i];
    gpuaes_cleanse(&state, sizeof state);
    gpuaes_cleanse(mask, sizeof mask);
    return status;
}

/* Overwrites memory of any kind. */
static enum gpuaes_status clear(unsigned char *p, size_t len)
{
    enum gpuaes_status status = GPUAES_OK;
    if (gpuaes_memory_kind(p, len) < GPUAES_DEVICE) {
        memset(p, 0, len);
        return status;
    }
    void *zeros = calloc(1, ZEROS);
    if (zeros == NULL)
        return GPUAES_NO_MEMORY;
    for (size_t at = 0; at < len && status == GPUAES_OK; at += ZEROS)
        status = gpuaes_copy(p + at, zeros, min_u64(len - at, ZEROS));
    free(zeros);
    return status;
}

enum gpuaes_status gpuaes_gcm_encrypt(const struct gpuaes_gcm_key *key,
                                      const struct gpuaes_gcm_message *message, unsigned flags)
{
    unsigned char tag[GPUAES_BLOCK];
    if (is_bad(key, message))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = run(GPUAES_GCM_ENCRYPT, key, message, flags, tag);
    if (status == GPUAES_OK)
        memcpy(message->tag, tag, message->tag_bytes);
    gpuaes_cleanse(tag, sizeof tag);
    return status;
}

enum gpuaes_status gpuaes_gcm_decrypt(const struct gpuaes_gcm_key *key,
                                      const struct gpuaes_gcm_message *message, unsigned flags)
{
    unsigned char tag[GPUAES_BLOCK], differ = 0;
    if (is_bad(key, message))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = run(GPUAES_GCM_DECRYPT, key, message, flags, tag);
    for (size_t i = 0; i < message->tag_bytes; i++)
        differ |= tag[i] ^ message->tag[i];
    gpuaes_cleanse(tag, sizeof tag);
    if (status != GPUAES_OK || differ == 0)
        return status;
    status = message->len == 0 ? GPUAES_OK : clear(message->out, message->len);
    return status == GPUAES_OK ? GPUAES_BAD_TAG : status;
}
