/*
 * Updates on device memory and on CUDA streams of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_DEVICE_H
#define GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_DEVICE_H

#include "provider/ciphers/context.h"

/*
 * A request on memory that is, or may be, a device's: `work` learns which. DECLINED: the CPU can
 * touch the memory, and no work queued on a stream conflicts.
 */
int blocks_device_update(struct blocks_context *context, struct request *request,
                         struct work *work);

/* As the default provider's final(), of a context with `device-memory`. */
int blocks_device_final(struct blocks_context *context, unsigned char *out, size_t *out_bytes,
                        size_t outsize);

/*
 * Returns 0 if the IV is lost because the chain ended on a device that failed. Then all calls
 * are refused until an initialisation gives an IV.
 */
int blocks_stream_check(const struct blocks_context *context);

/* Binds the context to a stream, which may be another than before. On 0 there may be none. */
int blocks_stream_open(struct blocks_context *context, uint64_t handle);

/*
 * Waits, and works without a stream from now on. Returns 0 if queued work failed, or if the
 * wait was not possible; then the stream stays.
 */
int blocks_stream_close(struct blocks_context *context);

/* Waits for what is queued, and brings the CPU's context to where that ends. */
int blocks_stream_sync(struct blocks_context *context);

/* The same for a copy of a context; it gets a binding of its own on the stream. */
int blocks_stream_copy(struct blocks_context *copy, const struct blocks_context *original);

#endif
