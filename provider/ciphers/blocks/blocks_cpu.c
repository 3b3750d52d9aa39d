/*
 * The default provider's context, asked and told.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks_cpu.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

#include "base/minmax.h"
#include "provider/common/copy.h"

int aes_get_uint(const struct aes_context *c, const char *name, unsigned *value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, value), OSSL_PARAM_construct_end()};
    return c->cipher->cpu.get_ctx_params(c->hot.cpu, params);
}

static int set_uint(const struct aes_context *c, void *cpu, const char *name, unsigned value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_construct_end()};
    return c->cipher->cpu.set_ctx_params(cpu, params);
}

int aes_set_uint(struct aes_context *c, const char *name, unsigned value)
{
    return set_uint(c, c->hot.cpu, name, value);
}

/* ---- Through host buffers ------------------------------------------------------------ */

/* Bulk goes in pieces, a multiple of the block. */
enum { PIECE = 256 << 10, SLACK = 2 * GPUAES_BLOCK };

static int on_host(struct aes_context *c, struct request *r, size_t bytes)
{
    OSSL_FUNC_cipher_update_fn *function = r->oneshot ? c->hot.cpu_cipher : c->hot.cpu_update;
    size_t written = 0;
    if (!function(c->hot.cpu, r->out, &written, r->outsize, r->in, bytes))
        return 0;
    aes_advance(r, bytes, written);
    return 1;
}

/*
 * The next `bytes`, with `in` and `out` of host memory for them. The CPU's context moves only
 * where a first copy has shown that device memory can be used now.
 */
static int bounce(struct aes_context *c, struct request *r, size_t bytes, unsigned char *in,
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
    if (!device_copy(c->provider, in, r->in, bytes) || !on_host(c, &host, bytes) ||
        !device_copy(c->provider, r->out, out, host.written))
        return 0;
    aes_advance(r, bytes, host.written);
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
static int bounce_image(struct aes_context *c, struct request *r, size_t bytes)
{
    uintptr_t in = (uintptr_t)r->in, out = (uintptr_t)r->out, low = min_u64(in, out);
    size_t size = (size_t)(in + out - 2 * low) + bytes + SLACK;
    unsigned char *image = OPENSSL_zalloc(size);
    int ok = image != NULL && bounce(c, r, bytes, image + (in - low), image + (out - low));
    OPENSSL_clear_free(image, size);
    return ok;
}

static int bounce_pieces(struct aes_context *c, struct request *r, size_t bytes)
{
    size_t most = min_u64(bytes, PIECE), size = 2 * most + SLACK, piece;
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
int aes_bounced_final(struct aes_context *c, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    unsigned char block[SLACK];
    void *before = c->cipher->cpu.dupctx(c->hot.cpu);
    if (before == NULL)
        return 0;
    *out_bytes = 0;
    int ok = c->cipher->cpu.final(c->hot.cpu, block, out_bytes, min_u64(outsize, sizeof block));
    if (ok && !device_copy(c->provider, out, block, *out_bytes)) {
        void *after = c->hot.cpu;
        c->hot.cpu = before;
        before = after;
        ok = 0;
    }
    c->cipher->cpu.freectx(before);
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}

/* ---- Data -------------------------------------------------------------------------- */

void aes_advance(struct request *r, size_t bytes, size_t written)
{
    r->in += bytes;
    r->in_bytes -= bytes;
    r->out += written;
    r->outsize -= written;
    r->written += written;
    r->is_cut = 0;
}

int aes_on_cpu(struct aes_context *c, struct request *r, size_t bytes)
{
    if (!r->bounced)
        return on_host(c, r, bytes);
    return needs_image(r, bytes) ? bounce_image(c, r, bytes) : bounce_pieces(c, r, bytes);
}

int aes_on_cpu_released(struct aes_context *c, struct request *r, size_t bytes)
{
    unsigned padding = 0;
    if ((c->mode->flags & MODE_STREAM) == 0 && !c->state.encrypting && !r->oneshot &&
        !aes_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding))
        return 0;
    if (padding == 0)
        return aes_on_cpu(c, r, bytes);
    if (!aes_set_uint(c, OSSL_CIPHER_PARAM_PADDING, 0))
        return 0;
    int ok = aes_on_cpu(c, r, bytes);
    return aes_set_uint(c, OSSL_CIPHER_PARAM_PADDING, padding) && ok;
}

/* ---- What is held back --------------------------------------------------------------- */

/*
 * It is fed until it gives a block. It is a copy that was told to hold nothing
 * back, which shows a whole block at once.
 */
static int feed_until_block(const struct aes_context *c, void *copied, size_t *bytes)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    unsigned char block[2 * GPUAES_BLOCK];
    size_t written = 0, fed = 0;
    int ok = set_uint(c, copied, OSSL_CIPHER_PARAM_PADDING, 0) &&
             c->hot.cpu_update(copied, block, &written, sizeof block, zeros, 0);
    *bytes = GPUAES_BLOCK;
    while (ok && written == 0 && fed < GPUAES_BLOCK) {
        ok = c->hot.cpu_update(copied, block, &written, sizeof block, zeros, 1);
        *bytes = GPUAES_BLOCK - ++fed;
    }
    OPENSSL_cleanse(block, sizeof block);
    return ok && written != 0;
}

int aes_find_buffered(const struct aes_context *c, size_t *bytes)
{
    void *copied = c->cipher->cpu.dupctx(c->hot.cpu);
    int ok = copied != NULL && feed_until_block(c, copied, bytes);
    if (copied != NULL)
        c->cipher->cpu.freectx(copied);
    return ok;
}

/* ---- Where it stands ------------------------------------------------------------------ */

/*
 * An IV, where the CPU's context has it. It is asked for as a pointer also because libcrypto 3.5
 * leaves the error of its first guess in the application's queue where a string is asked for.
 */
static unsigned char *find_iv(const struct aes_context *c, const char *name)
{
    void *iv = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(name, &iv, GPUAES_BLOCK),
                           OSSL_PARAM_construct_end()};
    int ok =
        c->cipher->cpu.get_ctx_params(c->hot.cpu, params) && params[0].return_size == GPUAES_BLOCK;
    return ok ? iv : NULL;
}

int aes_get_iv(const struct aes_context *c, unsigned char iv[GPUAES_BLOCK])
{
    if (c->mode->iv_bytes == 0)
        return 1;
    const unsigned char *updated = find_iv(c, OSSL_CIPHER_PARAM_UPDATED_IV);
    if (updated != NULL)
        memcpy(iv, updated, GPUAES_BLOCK);
    return updated != NULL;
}

/*
 * By an initialisation, which takes the IV as the original one, too: that is put back in its
 * place, to which the application may have a pointer.
 */
int aes_set_iv(struct aes_context *c, const unsigned char iv[GPUAES_BLOCK])
{
    if (c->mode->iv_bytes == 0)
        return 1;
    unsigned char *original = find_iv(c, OSSL_CIPHER_PARAM_IV), saved[GPUAES_BLOCK];
    if (original == NULL)
        return 0;
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        c->state.encrypting ? c->cipher->cpu.encrypt_init : c->cipher->cpu.decrypt_init;
    memcpy(saved, original, sizeof saved);
    int ok = init(c->hot.cpu, NULL, 0, iv, GPUAES_BLOCK, NULL);
    memcpy(original, saved, sizeof saved);
    return ok;
}

void aes_advance_counter(unsigned char counter[GPUAES_BLOCK], uint64_t blocks)
{
    for (int i = GPUAES_BLOCK - 1; i >= 0 && blocks != 0; i--) {
        blocks += counter[i];
        counter[i] = (unsigned char)blocks;
        blocks >>= 8;
    }
}
