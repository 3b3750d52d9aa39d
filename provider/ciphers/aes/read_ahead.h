/*
 * CTR updates from keystream that a device makes ahead of them.
 *
 * While a context reads ahead (`keystream` is not NULL), all its updates come here.
 * The default provider's context then lags behind: it is brought to the position when
 * it is needed there.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_READ_AHEAD_H
#define GPUAES_PROVIDER_CIPHERS_AES_READ_AHEAD_H

#include "provider/ciphers/aes/cpu.h"

/* An update of a context that reads ahead. */
int aes_read_ahead_update(struct aes_context *context, const struct call *call);

/*
 * Reports `bytes` that the CPU has just done of a stream; begins to read ahead once there
 * were enough of them.
 */
void aes_read_ahead_consider(struct aes_context *context, uint64_t bytes);

/* Bytes of the stream after which that may happen at the earliest; UINT64_MAX: never. */
uint64_t aes_read_ahead_distance(const struct aes_context *context);

/* Reports that the stream ends, or is no longer one. */
void aes_read_ahead_forget_run(struct aes_context *context);

/* Synchronises the CPU's context with the position. Returns 0 on failure. */
int aes_read_ahead_settle(struct aes_context *context);

/* The same, and reads ahead no more. */
int aes_read_ahead_end(struct aes_context *context);

/* The same for a copy of a context, which begins anew; the original stays as it is. */
int aes_read_ahead_copy(struct aes_context *copy, const struct aes_context *original);

#endif
