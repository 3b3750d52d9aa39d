/*
 * Shared by AES in calls, on streams of the application and ahead of its data.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_AES_H
#define GPUAES_CUDA_AES_AES_H

#include "base/counter.h"
#include "base/gcm.h"
#include "cuda/launch/kernels.h"

/*
 * Sets a kernel's arguments: key, IV (NULL: none), and whole blocks as kernels see them. The rest
 * is 0. The caller cleanses them.
 */
void aes_fill_arguments(struct aes_arguments *arguments, enum gpuaes_op op,
                        const struct gpuaes_key *key, const unsigned char *iv, drv_ptr in,
                        drv_ptr out, size_t bytes);

/* Returns 1 if these arguments break the contract of gpuaes_aes(), 0 otherwise. */
int aes_bad_arguments(const struct gpuaes_key *key, const void *in, const void *out, size_t len);

/* Encrypts one block on the CPU, in constant time: some 2 to 4 us. */
void aes_encrypt_block(const struct gpuaes_key *key, const unsigned char in[GPUAES_BLOCK],
                       unsigned char out[GPUAES_BLOCK]);

#endif
