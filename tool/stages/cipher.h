/*
 * The stages that encrypt or decrypt pieces. ECB, CTR and the decryption of CBC take
 * pieces in any order, the others one after the other.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_CIPHER_H
#define GPUAES_TOOL_STAGES_CIPHER_H

#include <openssl/evp.h>

#include "tool/keys/key.h"
#include "tool/pipeline/pipeline.h"

struct cipher_job {
    EVP_CIPHER *cipher;
    int mode; /* EVP_CIPH_... */
    int encrypt, padding;
    int parallel;
    const struct key_material *material;
    unsigned char prefix[SALT_HEADER_MOST]; /* goes before the first piece's output */
    size_t prefix_bytes;
    size_t drop; /* bytes that come before the data of the first piece */

    /* What the next piece in order begins with. */
    uint64_t position;
    unsigned char before[16];

    EVP_CIPHER_CTX *contexts[PIPELINE_THREADS]; /* of each thread; the first one for all in order */
};

/* Whether pieces can be worked on in any order. */
int cipher_is_parallel(const EVP_CIPHER *cipher, int encrypt);

/*
 * Completes a job of which cipher, encrypt, padding, material, position and before are set, and
 * adds its stages.
 */
void cipher_add(struct cipher_job *job, struct pipeline *pipeline);
void cipher_close(struct cipher_job *job);

#endif
