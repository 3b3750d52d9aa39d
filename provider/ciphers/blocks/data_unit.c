/*
 * Data units of XTS.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/data_unit.h"

#include <openssl/crypto.h>
#include <string.h>

#include "provider/ciphers/blocks/blocks_cpu.h"

/* The default provider refuses a longer data unit: IEEE Std 1619 section 5.1. */
enum { LONGEST = 16 << 20 };

void unit_cut(struct request *r)
{
    size_t part = r->in_bytes % GPUAES_BLOCK;
    if (r->in_bytes >= GPUAES_BLOCK && r->in_bytes <= LONGEST && r->outsize >= r->in_bytes)
        r->middle = r->in_bytes - (part == 0 ? 0 : part + GPUAES_BLOCK);
}

/* Encrypts or decrypts a tweak by the second half of the key. */
static int run_tweak(const struct blocks_context *c, int encrypt, unsigned char tweak[GPUAES_BLOCK])
{
    const struct cpu_cipher *ecb = &c->cipher->helper;
    OSSL_FUNC_cipher_encrypt_init_fn *init = encrypt ? ecb->encrypt_init : ecb->decrypt_init;
    const unsigned char *key = c->state.key + c->cipher->key_bytes;
    size_t written;
    void *context = ecb->newctx(c->provider->cpu.context);
    int ok = context != NULL && init(context, key, c->cipher->key_bytes, NULL, 0, NULL) &&
             ecb->cipher(context, tweak, &written, GPUAES_BLOCK, tweak, GPUAES_BLOCK);
    if (context != NULL)
        ecb->freectx(context);
    return ok;
}

int unit_get_tweak(const struct blocks_context *c, unsigned char tweak[GPUAES_BLOCK])
{
    return context_get_iv(c, tweak) && run_tweak(c, 1, tweak);
}

int unit_finish(struct blocks_context *c, const unsigned char tweak[GPUAES_BLOCK],
                struct request *r)
{
    unsigned char own[GPUAES_BLOCK], iv[GPUAES_BLOCK];
    size_t bytes = r->in_bytes;
    memcpy(iv, tweak, sizeof iv);
    int ok = context_get_iv(c, own) && run_tweak(c, 0, iv) && context_set_iv(c, iv);
    if (ok) {
        ok = blocks_on_cpu(c, r, bytes) && r->written == bytes;
        ok = context_set_iv(c, own) && ok;
    }
    OPENSSL_cleanse(iv, sizeof iv);
    return ok;
}
