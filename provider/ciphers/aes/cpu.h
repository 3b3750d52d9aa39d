/*
 * The CPU's part of an update: the default provider's context, which keeps the
 * state, and calls into it from memory of any kind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_CPU_H
#define GPUAES_PROVIDER_CIPHERS_AES_CPU_H

#include "provider/ciphers/aes/context.h"

/* The result of a handler. DECLINED: it did nothing, and another handler may do the call. */
enum { REFUSED = 0, DONE = 1, DECLINED = -1 };

enum { BOUNCE_IN = 1, BOUNCE_OUT = 2 }; /* sides of a call */

/* One call of update() or cipher(). */
struct call {
    unsigned char *out;
    size_t *out_bytes;
    size_t room;
    const unsigned char *in;
    size_t in_bytes;
    int oneshot;
    unsigned bounced; /* sides that the CPU must not touch: host buffers stand in */
    size_t held;      /* bytes that the context held back before; known where `bounced` */
};

/*
 * Lets the CPU do a call. With `released`, a padded decryption keeps nothing
 * back for once.
 */
int aes_on_cpu(struct aes_context *context, const struct call *call);
int aes_on_cpu_released(struct aes_context *context, const struct call *call);

/*
 * How many bytes a context for ECB or CBC holds back: a partial block, or the
 * last block of a padded decryption.
 */
int aes_find_held(const struct aes_context *context, size_t *held);

/* The IV that continues the stream at a block boundary. ECB has none. */
int aes_get_position(const struct aes_context *context, unsigned char iv[GPUAES_BLOCK]);
int aes_set_position(struct aes_context *context, const unsigned char iv[GPUAES_BLOCK]);

/* Adds to a counter block, which is a 128-bit big-endian number. */
void aes_advance_counter(unsigned char counter[GPUAES_BLOCK], uint64_t blocks);

int aes_get_uint(const struct aes_context *context, const char *name, unsigned *value);

#endif
