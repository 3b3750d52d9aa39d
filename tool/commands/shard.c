/*
 * A part of a stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/commands/shard.h"

#include <errno.h>
#include <string.h>

#include "tool/common/message.h"

enum { BLOCK = 16 };

static int is_ctr(const struct cipher_job *job)
{
    return EVP_CIPHER_get_mode(job->cipher) == EVP_CIPH_CTR_MODE;
}

int shard_check(const struct enc_options *o, const struct cipher_job *job)
{
    const char *cipher = o->cipher;
    if (o->is_piece && !is_ctr(job))
        return complain("--piece: expected -aes-...-ctr; with -%s, the blocks before and behind "
                        "are needed",
                        cipher);
    if (o->is_piece && o->part == NULL)
        return complain("--piece: expected --offset as well, which says where the piece begins");
    if (o->part == NULL)
        return 1;
    if (!cipher_is_parallel(job->cipher, job->encrypt))
        return complain("%s: expected -aes-...-ctr, -aes-...-ecb or the decryption of "
                        "-aes-...-cbc; %s with -%s needs all that comes before",
                        o->part, job->encrypt ? "encryption" : "decryption", cipher);
    if (o->base64)
        return complain("%s: not together with -a, since parts of Base64 are not to be "
                        "put together",
                        o->part);
    if (o->key == NULL && !o->decrypt && !o->no_salt && o->salt == NULL)
        return complain("%s: expected -S, -nosalt, or -K and -iv, since all parts must have "
                        "the same salt",
                        o->part);
    if (!is_ctr(job) && o->offset % BLOCK != 0)
        return complain("--offset %llu: expected a multiple of %d, the block of -%s",
                        (unsigned long long)o->offset, BLOCK, cipher);
    if (!is_ctr(job) && o->length != UINT64_MAX && o->length % BLOCK != 0)
        return complain("--length %llu: expected a multiple of %d, the block of -%s",
                        (unsigned long long)o->length, BLOCK, cipher);
    return 1;
}

int shard_enter(const struct enc_options *o, struct source *source, struct cipher_job *job)
{
    const unsigned char *data;
    if (o->part == NULL)
        return 1;
    job->position = o->offset;
    if (o->is_piece || o->offset == 0)
        return 1;
    /* The decryption of CBC needs the block of ciphertext that is before. */
    size_t before = EVP_CIPHER_get_mode(job->cipher) == EVP_CIPH_CBC_MODE ? BLOCK : 0;
    int found = source_skip(source, o->offset - before);
    if (found > 0 && before != 0) {
        long n = source_peek(source, &data, before);
        found = n < 0 ? -1 : n == (long)before;
        if (found > 0)
            memcpy(job->before, data, before);
        found = found > 0 ? source_skip(source, before) : found;
    }
    if (found < 0)
        return complain("%s: %s", source->name, strerror(errno));
    if (!found)
        return complain("--offset %llu: the input, \"%s\", is shorter",
                        (unsigned long long)o->offset, source->name);
    /* Behind the end there is no block to be padded: the part before has it. */
    if (source_peek(source, &data, 1) == 0)
        job->padding = 0;
    return 1;
}
