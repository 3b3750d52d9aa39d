/*
 * Pipelines through EVP, and by the module's own functions.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/pipes.h"

struct pipes_evp pipes_evp;

int pipes_find_evp(void)
{
    static const char *const names[] = {"EVP_CIPHER_can_pipeline", "EVP_CipherPipelineDecryptInit",
                                        "EVP_CipherPipelineEncryptInit", "EVP_CipherPipelineUpdate",
                                        "EVP_CipherPipelineFinal"};
    void *symbols[5];
    size_t i;

    for (i = 0; i < 5; i++)
        if ((symbols[i] = dlsym(RTLD_DEFAULT, names[i])) == NULL)
            return 0;
    memcpy(&pipes_evp, symbols, sizeof pipes_evp);
    return 1;
}

int pipes_find_functions(OSSL_PROVIDER *provider, const char *name, struct pipes_functions *f)
{
    const struct wanted_function wanted[] = {{OSSL_FUNC_CIPHER_NEWCTX, &f->newctx},
                                             {OSSL_FUNC_CIPHER_FREECTX, &f->freectx},
                                             {OSSL_FUNC_CIPHER_DUPCTX, &f->dupctx},
                                             {OSSL_FUNC_CIPHER_UPDATE, &f->update},
                                             {OSSL_FUNC_CIPHER_GET_CTX_PARAMS, &f->get_params},
                                             {OSSL_FUNC_CIPHER_SET_CTX_PARAMS, &f->set_params},
                                             {PIPELINE_ENCRYPT_INIT, &f->init[1]},
                                             {PIPELINE_DECRYPT_INIT, &f->init[0]},
                                             {PIPELINE_UPDATE, &f->pipes_update},
                                             {PIPELINE_FINAL, &f->pipes_final},
                                             {0, NULL}};
    return functions_find(provider, OSSL_OP_CIPHER, name, wanted);
}

/* ---- One context, by either way ---------------------------------------------- */

int pipes_open(struct pipes *p, const struct providers *both, const char *name, int by_evp)
{
    memset(p, 0, sizeof *p);
    if (by_evp) {
        p->cipher = fetch_ours(both, name);
        p->evp = EVP_CIPHER_CTX_new();
        return p->cipher != NULL && p->evp != NULL;
    }
    if (!pipes_find_functions(both->gpuaes, name, &p->functions))
        return 0;
    p->direct = p->functions.newctx(OSSL_PROVIDER_get0_provider_ctx(both->gpuaes));
    return p->direct != NULL;
}

void pipes_close(struct pipes *p)
{
    EVP_CIPHER_CTX_free(p->evp);
    EVP_CIPHER_free(p->cipher);
    if (p->direct)
        p->functions.freectx(p->direct);
    memset(p, 0, sizeof *p);
}

int pipes_become_copy(struct pipes *p)
{
    struct pipes copy = *p;

    if (p->direct) {
        copy.direct = p->functions.dupctx(p->direct);
        if (!copy.direct)
            return 0;
    } else {
        copy.evp = EVP_CIPHER_CTX_new();
        if (!EVP_CIPHER_CTX_copy(copy.evp, p->evp) || !EVP_CIPHER_up_ref(copy.cipher))
            return 0;
    }
    pipes_close(p);
    *p = copy;
    return 1;
}

int pipes_init(struct pipes *p, int encrypt, const unsigned char *key, size_t key_bytes,
               size_t count, const unsigned char **iv, size_t iv_bytes)
{
    const EVP_CIPHER *cipher = p->count == 0 ? p->cipher : NULL;

    p->count = count;
    if (p->direct)
        return p->functions.init[encrypt](p->direct, key, key_bytes, count, iv, iv_bytes, NULL);
    return pipes_evp.init[encrypt](p->evp, cipher, key, key_bytes, count, iv, iv_bytes);
}

int pipes_update(struct pipes *p, unsigned char **out, size_t *out_bytes, const size_t *room,
                 const unsigned char **in, const size_t *in_bytes)
{
    if (!p->direct)
        return pipes_evp.update(p->evp, out, out_bytes, room, in, in_bytes);
    return p->functions.pipes_update(p->direct, p->count, out, out_bytes, room, in, in_bytes);
}

int pipes_final(struct pipes *p, unsigned char **out, size_t *out_bytes, const size_t *room)
{
    if (!p->direct)
        return pipes_evp.final(p->evp, out, out_bytes, room);
    return p->functions.pipes_final(p->direct, p->count, out, out_bytes, room);
}

int pipes_get_params(struct pipes *p, OSSL_PARAM params[])
{
    return p->direct ? p->functions.get_params(p->direct, params)
                     : EVP_CIPHER_CTX_get_params(p->evp, params);
}

int pipes_set_padding(struct pipes *p, unsigned padding)
{
    OSSL_PARAM params[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, &padding), OSSL_PARAM_END};

    return p->direct ? p->functions.set_params(p->direct, params)
                     : EVP_CIPHER_CTX_set_padding(p->evp, (int)padding);
}
