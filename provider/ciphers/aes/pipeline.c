/*
 * EVP pipelines.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/pipeline.h"

#include <openssl/crypto.h>

#include "provider/common/errors.h"

/* ---- Pipes ----------------------------------------------------------------------- */

static void free_pipes(struct aes_pipeline *p, size_t from)
{
    for (size_t i = from; i < p->pipes; i++)
        aes_freectx(p->pipe[i]);
    if (p->pipes > from)
        p->pipes = from;
}

void aes_pipeline_end(struct aes_context *c)
{
    if (c->pipeline == NULL)
        return;
    free_pipes(c->pipeline, 0);
    OPENSSL_clear_free(c->pipeline, sizeof *c->pipeline);
    c->pipeline = NULL;
    aes_update_thresholds(c);
}

static int add_pipe(struct aes_pipeline *p, const struct aes_context *original)
{
    struct aes_context *pipe = aes_copy_context(original);
    if (pipe == NULL)
        return 0;
    p->pipe[p->pipes] = pipe;
    p->pipes++;
    return 1;
}

/* Those that are there stay: an initialisation may give them the rest of what they need. */
static int set_pipes(struct aes_context *c, size_t pipes)
{
    if (c->pipeline == NULL)
        c->pipeline = OPENSSL_zalloc(sizeof *c->pipeline);
    if (c->pipeline == NULL)
        return 0;
    free_pipes(c->pipeline, pipes);
    while (c->pipeline->pipes < pipes)
        if (!add_pipe(c->pipeline, c))
            return 0;
    return 1;
}

int aes_pipeline_copy(struct aes_context *copy, const struct aes_context *original)
{
    const struct aes_pipeline *p = original->pipeline;
    copy->pipeline = NULL;
    if (p == NULL)
        return 1;
    copy->pipeline = OPENSSL_zalloc(sizeof *copy->pipeline);
    for (size_t i = 0; copy->pipeline != NULL && i < p->pipes; i++)
        if (!add_pipe(copy->pipeline, p->pipe[i]))
            break;
    if (copy->pipeline != NULL && copy->pipeline->pipes == p->pipes)
        return 1;
    aes_pipeline_end(copy);
    return 0;
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
    if (!set_pipes(c, pipes)) {
        aes_pipeline_end(c);
        return 0;
    }
    int ok = aes_init(c, encrypting, key, key_bytes, NULL, 0, params);
    for (size_t i = 0; ok && i < pipes; i++)
        ok = aes_init(c->pipeline->pipe[i], encrypting, key, key_bytes, iv == NULL ? NULL : iv[i],
                      iv_bytes, params);
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
                      const size_t *out_bytes, const size_t *room)
{
    size_t expected = c->pipeline == NULL ? 0 : c->pipeline->pipes;
    if (expected == 0)
        error_raise(c->provider, ERROR_NOT_INITIALISED, "no pipes");
    else if (pipes != expected)
        error_raise(c->provider, ERROR_BAD_PIPES, "%zu, but it was initialised for %zu", pipes,
                    expected);
    else if (out == NULL || out_bytes == NULL || room == NULL)
        error_raise(c->provider, ERROR_BAD_PARAMETER, "no output, and this is not AEAD");
    else
        return 1;
    return 0;
}

int aes_pipeline_update(void *context, size_t pipes, unsigned char **out, size_t *out_bytes,
                        const size_t *room, const unsigned char **in, const size_t *in_bytes)
{
    struct aes_context *c = context;
    if (!check_call(c, pipes, out, out_bytes, room))
        return 0;
    if (in == NULL || in_bytes == NULL) {
        error_raise(c->provider, ERROR_BAD_PARAMETER, "no input");
        return 0;
    }
    int ok = 1;
    for (size_t i = 0; i < pipes; i++)
        ok &= aes_update(c->pipeline->pipe[i], out[i], &out_bytes[i], room[i], in[i], in_bytes[i]);
    return ok;
}

int aes_pipeline_final(void *context, size_t pipes, unsigned char **out, size_t *out_bytes,
                       const size_t *room)
{
    struct aes_context *c = context;
    int ok = check_call(c, pipes, out, out_bytes, room);
    for (size_t i = 0, ready = (size_t)ok * pipes; i < ready; i++)
        ok &= aes_final(c->pipeline->pipe[i], out[i], &out_bytes[i], room[i]);
    return ok;
}
