/*
 * The CPU's part of an update: the default provider's context, which keeps the
 * state, and calls into it from memory of any kind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_CPU_H
#define GPUAES_PROVIDER_CIPHERS_AES_CPU_H

#include "provider/ciphers/context.h"

/* The result of a handler. DECLINED: another handler is to do the rest of the request. */
enum { REFUSED = 0, DONE = 1, DECLINED = -1 };

enum { BOUNCE_IN = 1, BOUNCE_OUT = 2 }; /* sides of a request */

/*
 * One call of update() or cipher(). What does a part of it moves `in` and `out` past that part:
 * this is always what is left.
 */
struct request {
    const unsigned char *in;
    size_t in_bytes;
    unsigned char *out;
    size_t outsize, written; /* bytes of room at `out`, and before it those that were written */
    int oneshot;
    unsigned bounced; /* sides that the CPU must not touch: host buffers stand in */

    /* Set by aes_segment(). */
    int is_cut;
    size_t buffered;          /* bytes that the context held back before */
    size_t writes;            /* bytes that the request will write in all */
    size_t head_in, head_out; /* the CPU's, to a block boundary; and the rest is its tail */
    size_t middle;            /* whole blocks for the device, in and out; 0: none */
};

/*
 * Lets the CPU do the next `bytes` of a request. With `released`, a padded decryption keeps
 * nothing back for once. Where the CPU must not touch the memory, the bytes go through host
 * buffers, with the result that the default provider would have.
 */
int aes_on_cpu(struct aes_context *context, struct request *request, size_t bytes);
int aes_on_cpu_released(struct aes_context *context, struct request *request, size_t bytes);

/* Moves a request past what was done of it. */
void aes_advance(struct request *request, size_t bytes, size_t written);

/*
 * As the default provider's final(), for output that it must not touch. Where `out` cannot be
 * written, the context is as it was before.
 */
int aes_bounced_final(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                      size_t outsize);

/*
 * How many bytes a context for blocks holds back: a partial block, or the last block of a padded
 * decryption.
 */
int aes_find_buffered(const struct aes_context *context, size_t *bytes);

/* The IV that continues the message at a block boundary, if it has one; for struct aes_mode. */
int aes_get_iv(const struct aes_context *context, unsigned char iv[GPUAES_BLOCK]);
int aes_set_iv(struct aes_context *context, const unsigned char iv[GPUAES_BLOCK]);

/* Adds to a counter block, which is a 128-bit big-endian number. */
void aes_advance_counter(unsigned char counter[GPUAES_BLOCK], uint64_t blocks);

int aes_get_uint(const struct aes_context *context, const char *name, unsigned *value);
int aes_set_uint(struct aes_context *context, const char *name, unsigned value);

#endif
