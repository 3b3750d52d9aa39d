/*
 * The stage that encodes pieces in Base64.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/stages/base64_encode.h"

#include <openssl/params.h>
#include <string.h>

#include "tool/common/message.h"

static const char libcrypto_failed[] = "Base64 cannot be encoded";

/* What the last piece may be longer: it was encrypted. */
enum { LAST_PADDING = 32 };

/* Without lines. */
static uint64_t characters(uint64_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

size_t base64_encode_room(const struct base64_encode *job)
{
    size_t plain = (size_t)characters(job->piece + LAST_PADDING);
    return plain + (job->line != 0 ? plain / job->line + 2 : 1);
}

void base64_encode_open(struct base64_encode *job, const struct library *library)
{
    job->cipher = library->gpuaes != NULL
                      ? EVP_CIPHER_fetch(library->context, "BASE64", "provider=gpuaes")
                      : NULL;
}

void base64_encode_close(struct base64_encode *job)
{
    EVP_CIPHER_free(job->cipher);
}

/* Lines that our provider knows, and whole ones of them in each piece. */
static int are_usual_lines(const struct base64_encode *job)
{
    return job->line == 0 || job->line == 64 || job->line == 76;
}

static int by_provider(const struct base64_encode *job, struct piece *piece)
{
    size_t line = are_usual_lines(job) ? (size_t)job->line : 0, room = base64_encode_room(job);
    OSSL_PARAM format[] = {OSSL_PARAM_construct_size_t("line-length", &line),
                           OSSL_PARAM_construct_end()};
    OSSL_PARAM outsize[] = {OSSL_PARAM_construct_size_t("outsize", &room),
                            OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char *out = piece_spare(piece);
    int n = 0, rest = 0;
    int ok = context != NULL && EVP_CipherInit_ex2(context, job->cipher, NULL, NULL, 1, format) &&
             EVP_CIPHER_CTX_set_params(context, outsize) &&
             EVP_CipherUpdate(context, out, &n, piece->data, (int)piece->bytes) &&
             EVP_CipherFinal_ex(context, out + n, &rest);
    EVP_CIPHER_CTX_free(context);
    if (!ok)
        return piece_fail(piece, "%s: %s", libcrypto_failed, openssl_reason());
    piece_use_spare(piece, (size_t)n + (size_t)rest);
    return 1;
}

static int by_libcrypto(struct piece *piece)
{
    int n = EVP_EncodeBlock(piece_spare(piece), piece->data, (int)piece->bytes);
    if (n < 0)
        return piece_fail(piece, libcrypto_failed);
    piece_use_spare(piece, (size_t)n);
    return 1;
}

/* Cuts what has no lines, where the first character is number `at` of all. */
static void cut_lines(const struct base64_encode *job, struct piece *piece, uint64_t at)
{
    unsigned char *out = piece_spare(piece), *to = out;
    uint64_t column = at % job->line;
    for (size_t i = 0; i < piece->bytes;) {
        size_t left = piece->bytes - i;
        size_t n = job->line - column < left ? (size_t)(job->line - column) : left;
        memcpy(to, piece->data + i, n);
        to += n;
        i += n;
        column += n;
        if (column == job->line) {
            *to++ = '\n';
            column = 0;
        }
    }
    if (piece->last && column != 0)
        *to++ = '\n';
    piece_use_spare(piece, (size_t)(to - out));
}

int base64_encode_piece(void *context, struct piece *piece)
{
    const struct base64_encode *job = context;
    int by_us = job->cipher != NULL;
    if (piece->bytes == 0)
        return 1;
    if (by_us ? !by_provider(job, piece) : !by_libcrypto(piece))
        return 0;
    if (job->line != 0 && !(by_us && are_usual_lines(job)))
        cut_lines(job, piece, piece->number * characters(job->piece));
    return 1;
}
