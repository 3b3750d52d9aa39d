/*
 * What tests of device memory and of cuda-stream share: an application with memory on a device,
 * contexts on its streams, and why a call was refused.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_STREAMS_H
#define GPUAES_TEST_STREAMS_H

#include "test/support/compared.h"

extern const char undefined[];

/*
 * Loads the providers, with every whole block for a device, and begins as an application on the
 * first of two devices; ends the program where there is none.
 */
void begin_on_device(void);

/*
 * Memory with input and output of so many bytes on the current device of the application, where
 * the input is the text.
 */
struct memory *memory_on_device(uint64_t seed, size_t bytes);
void memory_on_device_free(struct memory *memory);

int set_stream(EVP_CIPHER_CTX *context, drv_stream stream);

/* Of the usual key and IV. Padding is off: a padded decryption keeps a block back, and so waits. */
struct stream stream_open_on(struct memory *memory, const char *name, int encrypt, drv_stream cuda);
int stop_stream(EVP_CIPHER_CTX *context);

#endif
