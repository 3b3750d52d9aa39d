/*
 * Updates that are queued on a CUDA stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_CUDA_STREAM_H
#define GPUAES_PROVIDER_CIPHERS_AES_CUDA_STREAM_H

#include <stdint.h>

#include "provider/ciphers/device.h"

struct aes_context;
struct request;
struct work;

struct aes_stream {
    struct stream named;
    int chained; /* the binding knows the IV, and `cpu` does not */
    int lost;    /* the IV is not known: its device failed. Until an IV is given */
};

/*
 * Returns 0 if the IV is lost because the chain ended on a device that failed. Then all calls
 * are refused until an initialisation gives an IV.
 */
int aes_stream_check(const struct aes_context *context);

/* Binds the context to a stream, which may be another than before. On 0 there may be none. */
int aes_stream_open(struct aes_context *context, uint64_t handle);

/*
 * Waits, and works without a stream from now on. Returns 0 if queued work failed, or if the
 * wait was not possible; then the stream stays.
 */
int aes_stream_close(struct aes_context *context);

/* Gives the stream up without waiting for it. */
void aes_stream_unbind(struct aes_context *context);

/*
 * Queues a request of whole blocks that is cut and located. DECLINED: the stream has been
 * waited for, or there is none, and the CPU's context is where the request begins.
 */
int aes_stream_update(struct aes_context *context, struct request *request, struct work *work);

/* Waits for what is queued, and brings the CPU's context to where that ends. */
int aes_stream_sync(struct aes_context *context);

/* The same for a copy of a context; it gets a binding of its own on the stream. */
int aes_stream_copy(struct aes_context *copy, const struct aes_context *original);

#endif
