/*
 * The CPU's part of a transfer: copying and combining at memory speed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_MEMORY_HOST_COPY_H
#define GPUAES_CUDA_MEMORY_HOST_COPY_H

#include <stddef.h>

/*
 * out = in ^ keystream over `len` bytes, any alignment; `in` may be `out`.
 * With `streaming`, the output is written past the caches: for work that is
 * larger than they are.
 */
void host_xor(unsigned char *out, const unsigned char *in, const unsigned char *keystream,
              size_t len, int streaming);

/* Copies, as above. */
void host_copy(unsigned char *out, const unsigned char *in, size_t len, int streaming);

#endif
