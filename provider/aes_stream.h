/*
 * Updates that are queued on a CUDA stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_AES_STREAM_H
#define GPUAES_AES_STREAM_H

#include "aes_cpu.h"
#include "offload.h"

/*
 * A chain that ends on a device that failed is lost: nobody knows the IV. 0 if it
 * is so, and then all calls are refused until an initialisation gives one.
 */
int aes_stream_check(const struct aes_context *context);

/* Names the stream, which may be another than before; 0 may leave none. */
int aes_stream_open(struct aes_context *context, uint64_t handle);

/*
 * Waits, and works without a stream from now on. 0 if queued work failed, or, and
 * then the stream stays, if it could not be waited for.
 */
int aes_stream_close(struct aes_context *context);

/*
 * Queues a call of whole blocks. DECLINED: the stream has been waited for, or
 * there is none, and the CPU's context is where the call begins.
 */
int aes_stream_update(struct aes_context *context, const struct call *call, size_t held,
                      const struct offload_places *places);

/* Waits for what is queued, and brings the CPU's context to where that ends. */
int aes_stream_settle(struct aes_context *context);

/* The same for a copy of a context; it gets a queue of its own on the stream. */
int aes_stream_copy(struct aes_context *copy, const struct aes_context *original);

#endif
