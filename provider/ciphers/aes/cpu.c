/*
 * The default provider's context, asked and told.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/cpu.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/ciphers/aes/bounce.h"

int aes_get_uint(const struct aes_context *c, const char *name, unsigned *value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, value), OSSL_PARAM_construct_end()};
    return c->functions->get_ctx_params(c->cpu, params);
}

static int set_uint(const struct cpu_cipher *functions, void *cpu, const char *name, unsigned value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_construct_end()};
    return functions->set_ctx_params(cpu, params);
}

/* ---- Data -------------------------------------------------------------------------- */

int aes_on_cpu(struct aes_context *c, const struct call *call)
{
    if (call->bounced)
        return aes_bounce(c, call);
    OSSL_FUNC_cipher_update_fn *function = call->oneshot ? c->cpu_cipher : c->cpu_update;
    return function(c->cpu, call->out, call->out_bytes, call->room, call->in, call->in_bytes);
}

int aes_on_cpu_released(struct aes_context *c, const struct call *call)
{
    unsigned padding = 0;
    if (c->mode != AES_CTR && !c->encrypting && !call->oneshot &&
        !aes_get_uint(c, OSSL_CIPHER_PARAM_PADDING, &padding))
        return 0;
    if (padding == 0)
        return aes_on_cpu(c, call);
    if (!set_uint(c->functions, c->cpu, OSSL_CIPHER_PARAM_PADDING, 0))
        return 0;
    int ok = aes_on_cpu(c, call);
    return set_uint(c->functions, c->cpu, OSSL_CIPHER_PARAM_PADDING, padding) && ok;
}

/* ---- What is held back --------------------------------------------------------------- */

/*
 * It is fed until it gives a block. It is a copy that was told to hold nothing
 * back, which shows a whole block at once.
 */
static int feed_until_block(const struct aes_context *c, void *copy, size_t *held)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    unsigned char block[2 * GPUAES_BLOCK];
    size_t written = 0, fed = 0;
    int ok = set_uint(c->functions, copy, OSSL_CIPHER_PARAM_PADDING, 0) &&
             c->cpu_update(copy, block, &written, sizeof block, zeros, 0);
    *held = GPUAES_BLOCK;
    while (ok && written == 0 && fed < GPUAES_BLOCK) {
        ok = c->cpu_update(copy, block, &written, sizeof block, zeros, 1);
        *held = GPUAES_BLOCK - ++fed;
    }
    OPENSSL_cleanse(block, sizeof block);
    return ok && written != 0;
}

int aes_find_held(const struct aes_context *c, size_t *held)
{
    void *copy = c->functions->dupctx(c->cpu);
    int ok = copy != NULL && feed_until_block(c, copy, held);
    if (copy != NULL)
        c->functions->freectx(copy);
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
    int ok = c->functions->get_ctx_params(c->cpu, params) && params[0].return_size == GPUAES_BLOCK;
    return ok ? iv : NULL;
}

int aes_get_position(const struct aes_context *c, unsigned char iv[GPUAES_BLOCK])
{
    if (c->mode == AES_ECB)
        return 1;
    const unsigned char *updated = find_iv(c, OSSL_CIPHER_PARAM_UPDATED_IV);
    if (updated == NULL)
        return 0;
    memcpy(iv, updated, GPUAES_BLOCK);
    return 1;
}

/*
 * By an initialisation, which takes the IV as the original one, too: that is put back in its place,
 * to which the application may have a pointer. `num` means nothing in CBC, but what was set
 * must be read back.
 */
int aes_set_position(struct aes_context *c, const unsigned char iv[GPUAES_BLOCK])
{
    unsigned num = 0;
    unsigned char *original, saved[GPUAES_BLOCK];
    if (c->mode == AES_ECB)
        return 1;
    if (c->mode == AES_CBC && !aes_get_uint(c, OSSL_CIPHER_PARAM_NUM, &num))
        return 0;
    original = find_iv(c, OSSL_CIPHER_PARAM_IV);
    if (original == NULL)
        return 0;
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        c->encrypting ? c->functions->encrypt_init : c->functions->decrypt_init;
    memcpy(saved, original, sizeof saved);
    int ok = init(c->cpu, NULL, 0, iv, GPUAES_BLOCK, NULL);
    memcpy(original, saved, sizeof saved);
    if (!ok)
        return 0;
    return num == 0 || set_uint(c->functions, c->cpu, OSSL_CIPHER_PARAM_NUM, num);
}

void aes_advance_counter(unsigned char counter[GPUAES_BLOCK], uint64_t blocks)
{
    for (int i = GPUAES_BLOCK - 1; i >= 0 && blocks != 0; i--) {
        blocks += counter[i];
        counter[i] = (unsigned char)blocks;
        blocks >>= 8;
    }
}
