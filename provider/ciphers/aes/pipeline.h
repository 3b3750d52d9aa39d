/*
 * EVP pipelines: up to 32 messages with one key in one call.
 *
 * Each pipe is a context of its own, and does what EVP_CipherInit_ex2(),
 * EVP_CipherUpdate() and EVP_CipherFinal_ex() on it would do. The context that libcrypto knows
 * is only what they are copied from: it takes no data, and has the key, but no IV.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_PIPELINE_H
#define GPUAES_PROVIDER_CIPHERS_AES_PIPELINE_H

#include "provider/ciphers/aes/context.h"
#include "provider/common/core_3_5.h"

struct aes_pipeline {
    size_t pipes;
    struct aes_context *pipe[PIPES_MOST];
};

/*
 * `iv` may be NULL, and then each pipe keeps, or gets again, the IV that it has. The number of
 * pipes is that of the last initialisation. Where a pipe fails, the others are done, and the
 * call returns 0.
 */
pipeline_init_fn aes_pipeline_encrypt_init, aes_pipeline_decrypt_init;
pipeline_update_fn aes_pipeline_update;
pipeline_final_fn aes_pipeline_final;

/* Frees the pipes: the context is one for a single message again. */
void aes_pipeline_end(struct aes_context *context);

/* Pipes of its own for a copy of a context. */
int aes_pipeline_copy(struct aes_context *copy, const struct aes_context *original);

/* An error is raised, and 0 returned, if the context is for pipes. */
int aes_pipeline_check(const struct aes_context *context);

#endif
