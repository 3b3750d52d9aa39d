/*
 * The stages that encrypt or decrypt pieces.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/stages/cipher.h"

#include <openssl/err.h>
#include <string.h>

#include "tool/common/message.h"

enum { BLOCK = 16 };

int cipher_is_parallel(const EVP_CIPHER *cipher, int encrypt)
{
    int mode = EVP_CIPHER_get_mode(cipher);
    int is_block_of_16 = mode == EVP_CIPH_CTR_MODE || EVP_CIPHER_get_block_size(cipher) == BLOCK;
    return is_block_of_16 && (mode == EVP_CIPH_ECB_MODE || mode == EVP_CIPH_CTR_MODE ||
                              (mode == EVP_CIPH_CBC_MODE && !encrypt));
}

/* What depends on the piece before, but takes no time. */
static int find_start(void *context, struct piece *piece)
{
    struct cipher_job *job = context;
    if (piece->number == 0 && job->drop != 0) {
        if (piece->bytes < job->drop)
            return piece_fail(piece, "the input ends within its header");
        piece->data += job->drop;
        piece->bytes -= job->drop;
    }
    piece->position = job->position;
    job->position += piece->bytes;
    if (job->mode != EVP_CIPH_CBC_MODE)
        return 1;
    memcpy(piece->before, job->before, BLOCK);
    if (piece->bytes >= BLOCK)
        memcpy(job->before, piece->data + piece->bytes - BLOCK, BLOCK);
    return 1;
}

/* The counter is 128 bits long, most significant byte first. */
static void add_to_counter(unsigned char counter[BLOCK], uint64_t n)
{
    unsigned carry = 0;
    for (int i = BLOCK - 1; i >= 0; i--) {
        unsigned sum = counter[i] + (unsigned)(n & 255) + carry;
        counter[i] = (unsigned char)sum;
        carry = sum >> 8;
        n >>= 8;
    }
}

static int begin_piece(const struct cipher_job *job, EVP_CIPHER_CTX *context,
                       const struct piece *piece)
{
    unsigned char iv[BLOCK], ignored[BLOCK] = {0};
    int n, skip = 0;
    if (job->mode == EVP_CIPH_CTR_MODE) {
        memcpy(iv, job->material->iv, BLOCK);
        add_to_counter(iv, piece->position / BLOCK);
        skip = (int)(piece->position % BLOCK);
    } else {
        memcpy(iv, piece->before, BLOCK);
    }
    return EVP_CipherInit_ex2(context, NULL, NULL, job->mode == EVP_CIPH_ECB_MODE ? NULL : iv, -1,
                              NULL) &&
           EVP_CIPHER_CTX_set_padding(context, job->padding && piece->ends) &&
           (skip == 0 || EVP_CipherUpdate(context, ignored, &n, ignored, skip));
}

static int cipher_failed(const struct cipher_job *job, struct piece *piece)
{
    const char *reason = openssl_reason();
    return piece_fail(piece, "the data cannot be %s%s%s", job->encrypt ? "encrypted" : "decrypted",
                      reason[0] != '\0' ? ": " : "", reason);
}

static int end_failed(const struct cipher_job *job, struct piece *piece)
{
    if (job->encrypt)
        return cipher_failed(job, piece);
    return piece_fail(piece,
                      "%s: the data is damaged or cut off, or the password, the key or an option "
                      "such as -pbkdf2, -iter or -md is not that of the encryption",
                      openssl_reason());
}

/* To the other buffer, behind the prefix, and with what comes at the end. */
static int transform(const struct cipher_job *job, EVP_CIPHER_CTX *context, struct piece *piece)
{
    unsigned char *out = piece_spare(piece);
    size_t prefix = piece->number == 0 ? job->prefix_bytes : 0;
    int n = 0, rest = 0;
    memcpy(out, job->prefix, prefix);
    if (piece->bytes != 0 &&
        !EVP_CipherUpdate(context, out + prefix, &n, piece->data, (int)piece->bytes))
        return cipher_failed(job, piece);
    if (piece->last && !EVP_CipherFinal_ex(context, out + prefix + n, &rest))
        return end_failed(job, piece);
    piece_use_spare(piece, prefix + (size_t)n + (size_t)rest);
    return 1;
}

static EVP_CIPHER_CTX *new_context(const struct cipher_job *job)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context != NULL &&
        EVP_CipherInit_ex2(context, job->cipher, job->material->key, job->material->iv,
                           job->encrypt, NULL) &&
        EVP_CIPHER_CTX_set_padding(context, job->padding))
        return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

/* A thread's context. NULL on failure. */
static EVP_CIPHER_CTX *context_of(struct cipher_job *job, unsigned thread)
{
    EVP_CIPHER_CTX **context = &job->contexts[thread];
    if (*context == NULL)
        *context = new_context(job);
    return *context;
}

static int run_parallel(void *context, struct piece *piece)
{
    struct cipher_job *job = context;
    EVP_CIPHER_CTX *cipher = context_of(job, piece->thread);
    return cipher != NULL && begin_piece(job, cipher, piece) ? transform(job, cipher, piece)
                                                             : cipher_failed(job, piece);
}

static int run_ordered(void *context, struct piece *piece)
{
    struct cipher_job *job = context;
    EVP_CIPHER_CTX *cipher = context_of(job, 0);
    return cipher != NULL ? find_start(job, piece) && transform(job, cipher, piece)
                          : cipher_failed(job, piece);
}

void cipher_add(struct cipher_job *job, struct pipeline *pipeline)
{
    job->mode = EVP_CIPHER_get_mode(job->cipher);
    job->parallel = cipher_is_parallel(job->cipher, job->encrypt);
    if (!job->parallel) {
        pipeline_add(pipeline, run_ordered, job, STAGE_ORDERED);
        return;
    }
    pipeline_add(pipeline, find_start, job, STAGE_ORDERED);
    pipeline_add(pipeline, run_parallel, job, STAGE_UNORDERED);
}

void cipher_close(struct cipher_job *job)
{
    for (unsigned i = 0; i < PIPELINE_THREADS; i++)
        EVP_CIPHER_CTX_free(job->contexts[i]);
    OPENSSL_cleanse(job->prefix, sizeof job->prefix);
}
