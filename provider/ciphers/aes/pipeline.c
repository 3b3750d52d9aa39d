/*
 * EVP pipelines.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/pipeline.h"

#include <openssl/crypto.h>

#include "provider/ciphers/aes/message.h"
#include "provider/ciphers/aes/update.h"
#include "provider/common/errors.h"

/* ---- Pipes ----------------------------------------------------------------------- */

/*
 * As many pipes as asked for. Those that are there stay: an initialisation may give them the rest
 * of what they need. A new one is a copy of the original's pipe of its number or, without
 * pipes, of the original.
 */
static int set_pipes(struct aes_context *c, const struct aes_context *original, size_t pipes)
{
    if (c->pipeline == NULL)
        c->pipeline = OPENSSL_zalloc(sizeof *c->pipeline);
    struct aes_pipeline *p = c->pipeline;
    if (p == NULL)
        return 0;
    while (p->pipes > pipes)
        aes_message_free(p->pipe[--p->pipes]);
    for (; p->pipes < pipes; p->pipes++) {
        p->pipe[p->pipes] =
            aes_message_copy(original == c ? c : original->pipeline->pipe[p->pipes]);
        if (p->pipe[p->pipes] == NULL)
            return 0;
    }
    return 1;
}

void aes_pipeline_end(struct aes_context *c)
{
    if (c->pipeline == NULL)
        return;
    (void)set_pipes(c, c, 0);
    OPENSSL_free(c->pipeline);
    c->pipeline = NULL;
    aes_update_thresholds(c);
}

int aes_pipeline_copy(struct aes_context *copy, const struct aes_context *original)
{
    int ok = original->pipeline == NULL || set_pipes(copy, original, original->pipeline->pipes);
    if (!ok)
        aes_pipeline_end(copy);
    aes_update_thresholds(copy);
    return ok;
}

int aes_pipeline_check(const struct aes_context *c)
{
    if (c->pipeline == NULL)
        return 1;
    error_raise(c->provider, ERROR_BAD_PIPES, "the context was initialised for %zu pipes",
                c->pipeline->pipes);
    return 0;
}

/* ---- Calls -------------------------------------------------------------------------- */

static int init(struct aes_context *c, int encrypting, const unsigned char *key, size_t key_bytes,
                size_t pipes, const unsigned char **iv, size_t iv_bytes, const OSSL_PARAM params[])
{
    if (pipes == 0 || pipes > PIPES_MOST) {
        error_raise(c->provider, ERROR_BAD_PIPES, "%zu; it must be 1 to %d", pipes, PIPES_MOST);
        return 0;
    }
    if (!set_pipes(c, c, pipes)) {
        aes_pipeline_end(c);
        return 0;
    }
    int ok = aes_message_init(c, encrypting, key, key_bytes, NULL, 0, params);
    for (size_t i = 0; ok && i < pipes; i++)
        ok = aes_message_init(c->pipeline->pipe[i], encrypting, key, key_bytes,
                              iv == NULL ? NULL : iv[i], iv_bytes, params);
    return ok;
}

int aes_pipeline_encrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                              size_t pipes, const unsigned char **iv, size_t iv_bytes,
                              const OSSL_PARAM params[])
{
    return init(context, 1, key, key_bytes, pipes, iv, iv_bytes, params);
}

int aes_pipeline_decrypt_init(void *context, const unsigned char *key, size_t key_bytes,
                              size_t pipes, const unsigned char **iv, size_t iv_bytes,
                              const OSSL_PARAM params[])
{
    return init(context, 0, key, key_bytes, pipes, iv, iv_bytes, params);
}

/*
 * libcrypto 3.5 forgets the number where a context that has a cipher is given one again with
 * the initialisation, and says 0: then this is how the application learns it.
 */
static int check_call(const struct aes_context *c, size_t pipes, const void *out,
                      const size_t *out_bytes, const size_t *outsize)
{
    if (c->pipeline == NULL)
        error_raise(c->provider, ERROR_NOT_INITIALISED, "no pipes");
    else if (pipes != c->pipeline->pipes)
        error_raise(c->provider, ERROR_BAD_PIPES, "%zu, but it was initialised for %zu", pipes,
                    c->pipeline->pipes);
    else if (out == NULL || out_bytes == NULL || outsize == NULL)
        error_raise(c->provider, ERROR_BAD_PARAMETER, "no output, and this is not AEAD");
    else
        return 1;
    return 0;
}

int aes_pipeline_update(void *context, size_t pipes, unsigned char **out, size_t *out_bytes,
                        const size_t *outsize, const unsigned char **in, const size_t *in_bytes)
{
    struct aes_context *c = context;
    if (!check_call(c, pipes, out, out_bytes, outsize))
        return 0;
    if (in == NULL || in_bytes == NULL) {
        error_raise(c->provider, ERROR_BAD_PARAMETER, "no input");
        return 0;
    }
    int ok = 1;
    for (size_t i = 0; i < pipes; i++)
        ok &=
            aes_update(c->pipeline->pipe[i], out[i], &out_bytes[i], outsize[i], in[i], in_bytes[i]);
    return ok;
}

int aes_pipeline_final(void *context, size_t pipes, unsigned char **out, size_t *out_bytes,
                       const size_t *outsize)
{
    struct aes_context *c = context;
    if (!check_call(c, pipes, out, out_bytes, outsize))
        return 0;
    int ok = 1;
    for (size_t i = 0; i < pipes; i++)
        ok &= aes_final(c->pipeline->pipe[i], out[i], &out_bytes[i], outsize[i]);
    return ok;
}
