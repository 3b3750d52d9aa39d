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
    if (o->is_piece && !o->is_shard)
        return complain("--piece: expected --offset, too: where does the piece belong?");
    if (!o->is_shard)
        return 1;
    if (!cipher_is_parallel(job->cipher, job->encrypt))
        return complain("--offset: expected -aes-...-ctr, -aes-...-ecb or the decryption of "
                        "-aes-...-cbc; %s with -%s needs all that comes before",
                        job->encrypt ? "encryption" : "decryption", cipher);
    if (o->base64)
        return complain("--offset: not together with -a, since parts of Base64 are not to be "
                        "put together");
    if (o->key == NULL && !o->decrypt && !o->no_salt && o->salt == NULL)
        return complain("--offset: expected -S, or -K and -iv, since all parts must have the "
                        "same salt");
    if (o->is_piece && !is_ctr(job))
        return complain("--piece: expected -aes-...-ctr; with -%s, the blocks before and behind "
                        "are needed",
                        cipher);
    if (!is_ctr(job) && o->offset % BLOCK != 0)
        return complain("--offset %llu: expected a multiple of %d, the block of -%s",
                        (unsigned long long)o->offset, BLOCK, cipher);
    if (!is_ctr(job) && o->length != UINT64_MAX && o->length % BLOCK != 0)
        return complain("--length %llu: expected a multiple of %d, the block of -%s",
                        (unsigned long long)o->length, BLOCK, cipher);
    return 1;
}

/* For the decryption of CBC: the block of ciphertext that is before. */
static int read_block_before(struct source *source, unsigned char block[BLOCK])
{
    const unsigned char *data;
    int found;
    if (source->seekable) {
        found = source_read_before(source, block, BLOCK);
    } else {
        long n = source_peek(source, &data, BLOCK);
        found = n < 0 ? -1 : n == BLOCK;
        if (found > 0)
            memcpy(block, data, BLOCK);
        found = found > 0 ? source_skip(source, BLOCK) : found;
    }
    return found;
}

int shard_enter(const struct enc_options *o, struct source *source, struct cipher_job *job)
{
    if (!o->is_shard)
        return 1;
    const unsigned char *data;
    job->position = o->offset;
    if (o->is_piece || o->offset == 0)
        return 1;
    int needs_block = EVP_CIPHER_get_mode(job->cipher) == EVP_CIPH_CBC_MODE;
    uint64_t skip = needs_block && !source->seekable ? o->offset - BLOCK : o->offset;
    int found = source_skip(source, skip);
    if (found > 0 && needs_block)
        found = read_block_before(source, job->before);
    if (found < 0)
        return complain("%s: %s", source->name, strerror(errno));
    if (!found)
        return complain("--offset %llu: %s is shorter", (unsigned long long)o->offset,
                        source->name);
    /* Behind the end there is no block to be padded: the part before has it. */
    if (source_peek(source, &data, 1) == 0)
        job->padding = 0;
    return 1;
}
