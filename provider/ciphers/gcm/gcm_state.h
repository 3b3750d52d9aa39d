/*
 * The state of an AES-GCM context.
 *
 * The default provider's hash can be neither read nor set, so a message is done by one side from
 * its first text on. By the CPU: everything is the default provider's. By the GPU: this context
 * holds the hash and the counter, and small updates of it are the CPU's still; see gcm_message.h.
 * Additional data goes to the default provider's context in both cases. It is kept as well, up to
 * GCM_AAD_MOST bytes: a message that has more is done by the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_GCM_STATE_H
#define GPUAES_PROVIDER_CIPHERS_GCM_GCM_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "provider/ciphers/context.h"
#include "provider/ciphers/device_calls.h"

enum gcm_side {
    GCM_UNDECIDED = 0, /* no text yet */
    GCM_BY_CPU = 1,    /* a bit: what small text makes of an undecided one */
    GCM_BY_GPU = 2,
    GCM_ENDED = 3 /* one by the GPU: it failed, or the default provider's context has its tag */
};

/*
 * Bytes of additional data that are kept of a message; and without memory of their own. With more
 * of these a context would have more than 1032 bytes, which malloc() is slower to find.
 */
enum { GCM_AAD_MOST = 4096, GCM_AAD_SHORT = 32 };

/* A message that the GPU does. */
struct gcm_message {
    struct gpuaes_gcm_state state; /* at the last block boundary */
    uint64_t text_bytes;
    unsigned char stream[GPUAES_BLOCK]; /* of the block that is not whole yet, the keystream, */
    unsigned char block[GPUAES_BLOCK];  /* and the ciphertext */
    unsigned char mask[GPUAES_BLOCK];   /* the encrypted first counter block */
    int is_queued;                      /* the stream's binding has the hash of some of it */
};

struct gcm_context {
    /* What every small message needs. */
    void *cpu; /* the default provider's context */
    const struct cipher *cipher;
    size_t small;        /* text of fewer bytes is the CPU's, and makes the message so */
    size_t floor;        /* what `small` is for a message that is not begun yet */
    size_t aad_bytes;    /* of this message; more than GCM_AAD_MOST: they are not kept */
    unsigned side;       /* enum gcm_side */
    int is_begun;        /* the default provider may have taken the IV of this message */
    int again;           /* as gcm_begin_again() says; -1: never */
    size_t iv_bytes;     /* of the IV that it took last, and of the next; 0: not known */
    enum cpu_reason why; /* why text of this message is the CPU's */
    enum cpu_reason reason_if_small; /* and of messages under `floor` */
    struct totals totals;

    struct provider *provider;
    int encrypting, has_key;
    int device_memory; /* the parameter: pointers may be a device's */
    int is_tls; /* it may hold data of a TLS record, which IVs do not end: the CPU's for good */
    struct stream stream;
    unsigned char key[32];
    int expanded;
    struct gpuaes_gcm_key schedule;
    void *ctr, *hash; /* contexts of the default provider's CTR, and of GCM; or NULL as yet */
    unsigned char hash_mask[GPUAES_BLOCK];
    struct gcm_message message;

    /* Additional data: in the first up to GCM_AAD_SHORT bytes, in the second up to GCM_AAD_MOST. */
    unsigned char aad_short[GCM_AAD_SHORT], *aad_long; /* NULL as yet */
};

/* More than fits, or so much that none of it is kept. */
void gcm_keep_long_aad(struct gcm_context *context, const unsigned char *in, size_t bytes);

/* Keeps additional data of the message, which a device may come to do. Small messages call it. */
static inline void gcm_keep_aad(struct gcm_context *context, const unsigned char *in, size_t bytes)
{
    if (__builtin_expect(context->aad_bytes + bytes > GCM_AAD_SHORT || bytes > GCM_AAD_SHORT, 0)) {
        gcm_keep_long_aad(context, in, bytes);
        return;
    }
    memcpy(context->aad_short + context->aad_bytes, in, bytes);
    context->aad_bytes += bytes;
}

/* After so much text the policy is asked again, and counted bytes are handed on: neither shows. */
enum { GCM_ASK_AGAIN = 1 << 20 };

static inline int gcm_is_to_be_asked(const struct gcm_context *context)
{
    return context->totals.cpu_bytes[context->why] >= GCM_ASK_AGAIN;
}

/*
 * Begins the next message with the key, the direction and the length of the IV of the one before,
 * and returns 1; the default provider, which does not refuse such an IV, is then told. Returns 0
 * where a whole initialisation is needed. `again` is the direction if no more is needed than this;
 * else -1. Messages of some bytes have an IV as often as text, so it is inline.
 */
static inline int gcm_begin_again(struct gcm_context *context, int encrypting, size_t iv_bytes)
{
    if (context->again != encrypting || context->iv_bytes != iv_bytes ||
        (context->reason_if_small != CPU_SMALL && policy_saw_cuda()) || gcm_is_to_be_asked(context))
        return 0;
    context->small = context->floor;
    context->aad_bytes = 0;
    context->side = GCM_UNDECIDED;
    context->is_begun = 0;
    return 1;
}

/* Asks the policy for `floor` and `why`. */
void gcm_ask_policy(struct gcm_context *context);

/*
 * Messages after one of so many bytes, which the policy left to the CPU by choice, are the CPU's
 * without a question if they are no longer than that, for the next GCM_ASK_AGAIN bytes. A question
 * costs some hundred instructions that have left the caches, and one of the driver in pinned
 * memory.
 */
void gcm_keep_choice(struct gcm_context *context, size_t bytes);

/* Sets `small` and `again` for what the message is now. Call after everything that changes it. */
void gcm_set_thresholds(struct gcm_context *context);

/* Ends a message that a GPU does, which has no tag. No more text of it is taken. */
void gcm_end_message(struct gcm_context *context);

/* The key as libgpuaes wants it; NULL without a key. */
const struct gpuaes_gcm_key *gcm_schedule(struct gcm_context *context);

#endif
