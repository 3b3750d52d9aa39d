/*
 * What tests of cuda-stream share: contexts on a stream, and why a call was refused.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_STREAMS_H
#define GPUAES_TEST_STREAMS_H

#include "test/support/application.h"
#include "test/support/providers.h"

enum { BLOCK = 16 };

extern const unsigned char key[32], iv[BLOCK];
extern const char undefined[];

int set_stream(EVP_CIPHER_CTX *context, drv_stream stream);

/* Padding is off: a padded decryption keeps a block back, and so waits. */
EVP_CIPHER_CTX *new_context(int ours, const char *name, int encrypt, drv_stream stream);
int stop_stream(EVP_CIPHER_CTX *context);

#endif
