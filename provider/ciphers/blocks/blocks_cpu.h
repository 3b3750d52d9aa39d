/*
 * The CPU's part of an update: calls of the default provider's context, from memory of any kind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_CPU_H
#define GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_CPU_H

#include "provider/ciphers/context.h"

enum { BOUNCE_IN = 1, BOUNCE_OUT = 2 }; /* sides of a request */

/*
 * Lets the CPU do the next `bytes` of a request. With `released`, a padded decryption keeps
 * nothing back for once. Bytes in device memory go through host buffers, with the result that the
 * default provider would have.
 */
int blocks_on_cpu(struct blocks_context *context, struct request *request, size_t bytes);
int blocks_on_cpu_released(struct blocks_context *context, struct request *request, size_t bytes);

/*
 * As the default provider's final(), for output in device memory. Where `out` cannot be written,
 * the context is as it was before.
 */
int blocks_bounced_final(struct blocks_context *context, unsigned char *out, size_t *out_bytes,
                         size_t outsize);

/*
 * How many bytes a context for blocks holds back: a partial block, or the last block of a padded
 * decryption.
 */
int blocks_find_buffered(const struct blocks_context *context, size_t *bytes);

#endif
