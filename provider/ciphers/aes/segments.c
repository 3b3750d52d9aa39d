/*
 * Where an update is cut.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/segments.h"

#include <openssl/core_names.h>
#include <string.h>

/* A padded decryption keeps the last block until it knows that it is not the end. */
static int holds_back(const struct aes_context *c, int *holds)
{
    unsigned padding;
    if (!aes_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding))
        return 0;
    *holds = !c->encrypting && padding;
    return 1;
}

int aes_measure(const struct aes_context *c, const struct call *call, size_t *held, size_t *writes)
{
    int holds;
    *held = 0;
    *writes = call->in_bytes;
    if (c->mode == AES_CTR)
        return 1;
    if (!aes_find_held(c, held) || !holds_back(c, &holds))
        return 0;
    if (!call->oneshot)
        *writes =
            (*held + call->in_bytes - (holds && call->in_bytes != 0)) / GPUAES_BLOCK * GPUAES_BLOCK;
    return 1;
}

static int split_ctr(const struct aes_context *c, const struct call *call, struct split *s)
{
    unsigned position; /* within a keystream block */
    if (!aes_get_uint(c, OSSL_CIPHER_PARAM_NUM, &position) || position >= GPUAES_BLOCK)
        return 0;
    s->head_in = s->head_out = (GPUAES_BLOCK - position) % GPUAES_BLOCK;
    if (call->in_bytes < s->head_in || call->room < call->in_bytes)
        return 0;
    s->middle = (call->in_bytes - s->head_in) / GPUAES_BLOCK * GPUAES_BLOCK;
    s->tail_in = s->tail_out = call->in_bytes - s->head_in - s->middle;
    return 1;
}

static int split_blocks(const struct aes_context *c, const struct call *call, size_t held,
                        struct split *s)
{
    int holds;
    if (call->oneshot) {
        /* Passes by the buffer, which setting the IV would empty. */
        s->middle = call->in_bytes;
        return held == 0 && call->in_bytes % GPUAES_BLOCK == 0 && call->room >= call->in_bytes;
    }
    s->head_in = (GPUAES_BLOCK - held) % GPUAES_BLOCK;
    s->head_out = held != 0 ? GPUAES_BLOCK : 0;
    if (call->in_bytes <= s->head_in || !holds_back(c, &holds))
        return 0;
    size_t rest = call->in_bytes - s->head_in;
    s->middle = (holds ? rest - 1 : rest) / GPUAES_BLOCK * GPUAES_BLOCK;
    s->tail_in = rest - s->middle;
    return call->room >= s->head_out + s->middle;
}

/*
 * In place, or apart. With any other overlap the result depends on the order
 * in which bytes are written: that is left to the CPU.
 */
static int has_safe_overlap(const struct call *call, const struct split *s)
{
    const unsigned char *in = call->in, *out = call->out;
    size_t out_bytes = s->head_out + s->middle + s->tail_out;
    if (in + s->head_in == out + s->head_out)
        return 1;
    return out + out_bytes <= in || in + call->in_bytes <= out;
}

int aes_make_split(const struct aes_context *c, const struct call *call, size_t held,
                   struct split *s)
{
    memset(s, 0, sizeof *s);
    if (call->in == NULL || call->out == NULL)
        return 0;
    int ok = c->mode == AES_CTR ? split_ctr(c, call, s) : split_blocks(c, call, held, s);
    return ok && s->middle != 0 && has_safe_overlap(call, s);
}
