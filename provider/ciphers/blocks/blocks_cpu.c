/*
 * The CPU's part of an update.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks_cpu.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>

#include "base/minmax.h"

/* ---- Through host buffers ------------------------------------------------------------ */

/* Bulk goes in pieces, a multiple of the block. */
enum { PIECE = 256 << 10, SLACK = 2 * GPUAES_BLOCK };

/*
 * The next `bytes`, with `in` and `out` of host memory for them. The CPU's context moves only
 * where a first copy has shown that device memory can be used now.
 */
static int bounce(struct blocks_context *c, struct request *r, size_t bytes, unsigned char *in,
                  unsigned char *out)
{
    struct request host = {.in = in,
                           .in_bytes = bytes,
                           .out = out,
                           .outsize = min_u64(r->outsize, bytes + SLACK),
                           .oneshot = r->oneshot};
    int shown = r->bounced != BOUNCE_OUT && bytes != 0;
    if (!shown && r->outsize != 0 && !device_copy(c->provider, out, r->out, 1))
        return 0;
    if (!device_copy(c->provider, in, r->in, bytes) || !context_on_host(c, &host, bytes) ||
        !device_copy(c->provider, r->out, out, host.written))
        return 0;
    request_advance(r, bytes, host.written);
    return 1;
}

/* An overlap of which pieces would make something else than one call does. */
static int needs_image(const struct request *r, size_t bytes)
{
    uintptr_t in = (uintptr_t)r->in, out = (uintptr_t)r->out;
    size_t buffered = r->oneshot ? 0 : r->buffered;
    if (out + bytes + buffered <= in || in + bytes <= out)
        return 0;
    /* Output that does not run ahead of the input finds it read already. */
    return out + buffered > in;
}

/* Both at their distance in one piece of host memory: for rare overlaps. */
static int bounce_image(struct blocks_context *c, struct request *r, size_t bytes)
{
    uintptr_t in = (uintptr_t)r->in, out = (uintptr_t)r->out, low = min_u64(in, out);
    size_t size = (size_t)(in + out - 2 * low) + bytes + SLACK;
    unsigned char *image = OPENSSL_zalloc(size);
    int ok = image != NULL && bounce(c, r, bytes, image + (in - low), image + (out - low));
    OPENSSL_clear_free(image, size);
    return ok;
}

static int bounce_pieces(struct blocks_context *c, struct request *r, size_t bytes)
{
    size_t most = (c->cipher->flags & CIPHER_UNITS) != 0 ? bytes : min_u64(bytes, PIECE);
    size_t size = 2 * most + SLACK, piece;
    unsigned char *memory = OPENSSL_malloc(size);
    int ok = memory != NULL;
    do {
        piece = min_u64(bytes, most);
        ok = ok && bounce(c, r, piece, memory, memory + most);
        bytes -= piece;
    } while (ok && bytes != 0);
    OPENSSL_clear_free(memory, size);
    return ok;
}

/* The state of before is kept until the output is there. */
int blocks_bounced_final(struct blocks_context *c, unsigned char *out, size_t *out_bytes,
                         size_t outsize)
{
    unsigned char block[SLACK];
    void *before = c->cipher->cpu.dupctx(c->hot.cpu);
    if (before == NULL)
        return 0;
    *out_bytes = 0;
    int ok = c->cipher->cpu.final(c->hot.cpu, block, out_bytes, min_u64(outsize, sizeof block));
    if (ok && !device_copy(c->provider, out, block, *out_bytes)) {
        void *ended = c->hot.cpu;
        c->hot.cpu = before;
        before = ended;
        ok = 0;
    }
    c->cipher->cpu.freectx(before);
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}

/* ---- Data -------------------------------------------------------------------------- */

int blocks_on_cpu(struct blocks_context *c, struct request *r, size_t bytes)
{
    if (!r->bounced)
        return context_on_host(c, r, bytes);
    return needs_image(r, bytes) ? bounce_image(c, r, bytes) : bounce_pieces(c, r, bytes);
}

int blocks_on_cpu_released(struct blocks_context *c, struct request *r, size_t bytes)
{
    unsigned padding = 0;
    if ((c->cipher->flags & CIPHER_STREAM) == 0 && !c->state.encrypting && !r->oneshot &&
        !context_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding))
        return 0;
    if (padding == 0)
        return blocks_on_cpu(c, r, bytes);
    if (!context_set_uint(c, OSSL_CIPHER_PARAM_PADDING, 0))
        return 0;
    int ok = blocks_on_cpu(c, r, bytes);
    return context_set_uint(c, OSSL_CIPHER_PARAM_PADDING, padding) && ok;
}

/* ---- What is held back --------------------------------------------------------------- */

/*
 * It is fed until it gives a block. It is a copy that was told to hold nothing
 * back, which shows a whole block at once.
 */
static int feed_until_block(const struct blocks_context *c, void *copied, size_t *bytes)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    unsigned char block[2 * GPUAES_BLOCK];
    size_t written = 0, fed = 0;
    int ok = cpu_set_uint(&c->cipher->cpu, copied, OSSL_CIPHER_PARAM_PADDING, 0) &&
             c->hot.cpu_update(copied, block, &written, sizeof block, zeros, 0);
    *bytes = GPUAES_BLOCK;
    while (ok && written == 0 && fed < GPUAES_BLOCK) {
        ok = c->hot.cpu_update(copied, block, &written, sizeof block, zeros, 1);
        *bytes = GPUAES_BLOCK - ++fed;
    }
    OPENSSL_cleanse(block, sizeof block);
    return ok && written != 0;
}

int blocks_find_buffered(const struct blocks_context *c, size_t *bytes)
{
    void *copied = c->cipher->cpu.dupctx(c->hot.cpu);
    int ok = copied != NULL && feed_until_block(c, copied, bytes);
    if (copied != NULL)
        c->cipher->cpu.freectx(copied);
    return ok;
}
