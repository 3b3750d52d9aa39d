/*
 * The CPU's part of a message that a GPU does, by the default provider's own ciphers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_GCM_CPU_H
#define GPUAES_PROVIDER_CIPHERS_GCM_GCM_CPU_H

#include "provider/ciphers/gcm/gcm_state.h"

/*
 * Ends the message of the default provider's context, which has had no text and makes no tag.
 * `mask` gets the encrypted first counter block, `counter` the block after that. Returns 0 where
 * the context has no IV to use, or fails.
 */
int gcm_cpu_take(struct gcm_context *context, unsigned char mask[GPUAES_BLOCK],
                 unsigned char counter[GPUAES_BLOCK]);

/* Encrypts or decrypts whole blocks of the CPU's memory, in place or out of place; hashes them. */
int gcm_cpu_blocks(struct gcm_context *context, struct gpuaes_gcm_state *state,
                   const unsigned char *in, unsigned char *out, size_t bytes);

/* Makes the keystream of the next block, and moves the counter past it. */
int gcm_cpu_stream(struct gcm_context *context, unsigned char counter[GPUAES_BLOCK],
                   unsigned char stream[GPUAES_BLOCK]);

/*
 * Gets the tag of the default provider's context: the expected one of a decryption. It has `bytes`
 * of the 16, and what the context had before behind them. Returns 0 where there is none, without an
 * error.
 */
int gcm_cpu_get_tag(struct gcm_context *context, unsigned char tag[GPUAES_BLOCK], size_t *bytes);

/*
 * Makes `tag`, of 1 to 16 bytes, the tag of the default provider's context, whose message has
 * ended: so the application of an encryption gets it there.
 */
int gcm_cpu_put_tag(struct gcm_context *context, const unsigned char *tag, size_t bytes);

/*
 * Whether the default provider goes on with a message that has had text after these parameters,
 * which it may refuse in part. Call it before they are set, for a message that gcm_cpu_take() has
 * ended. It is tried on contexts of its own.
 */
int gcm_cpu_goes_on(struct gcm_context *context, const OSSL_PARAM params[]);

/*
 * Whether the default provider's context, whose message gcm_cpu_take() has ended, has begun another
 * since, with an IV that it counts. Not after data of a TLS record, which this takes.
 */
int gcm_cpu_has_begun(struct gcm_context *context);

#endif
