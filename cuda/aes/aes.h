/*
 * Shared by AES in calls, on streams of the application and ahead of its data.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_AES_H
#define GPUAES_CUDA_AES_AES_H

#include "cuda/launch/kernels.h"

/* Adds to a 128-bit big-endian number. */
void aes_add_blocks(unsigned char counter[GPUAES_BLOCK], uint64_t blocks);

/* Key and IV (NULL: none) for a kernel; the rest is 0. To be cleansed after use. */
void aes_fill_arguments(struct aes_arguments *arguments, enum gpuaes_op op,
                        const struct gpuaes_key *key, const unsigned char *iv);

/* Returns 1 if these arguments break the contract of gpuaes_aes(), 0 otherwise. */
int aes_bad_arguments(const struct gpuaes_key *key, const void *in, const void *out, size_t len);

/* Encrypts one block on the CPU, in constant time: some 2 to 4 us. */
void aes_encrypt_block(const struct gpuaes_key *key, const unsigned char in[GPUAES_BLOCK],
                       unsigned char out[GPUAES_BLOCK]);

#endif
