/*
 * Pipelines for tests, by two ways: through EVP, where libcrypto has them (3.5), found at run
 * time so that a program that was built on older headers does it too; and by the module's own
 * dispatch functions, which any libcrypto can look up.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_PIPES_H
#define GPUAES_TEST_PIPES_H

#include <dlfcn.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>

#include "provider/common/core_3_5.h"
#include "test/support/providers.h"

struct pipes_evp {
    int (*can_pipeline)(const EVP_CIPHER *cipher, int encrypt);
    int (*init[2])(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const unsigned char *key,
                   size_t key_bytes, size_t pipes, const unsigned char **iv, size_t iv_bytes);
    int (*update)(EVP_CIPHER_CTX *context, unsigned char **out, size_t *out_bytes,
                  const size_t *room, const unsigned char **in, const size_t *in_bytes);
    int (*final)(EVP_CIPHER_CTX *context, unsigned char **out, size_t *out_bytes,
                 const size_t *room);
};
extern struct pipes_evp pipes_evp;

/* 1, or 0 where libcrypto has no pipelines. */
int pipes_find_evp(void);

/* The dispatch functions of a cipher. */
struct pipes_functions {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_dupctx_fn *dupctx;
    OSSL_FUNC_cipher_update_fn *update;
    OSSL_FUNC_cipher_get_ctx_params_fn *get_params;
    OSSL_FUNC_cipher_set_ctx_params_fn *set_params;
    pipeline_init_fn *init[2]; /* [1]: encrypts */
    pipeline_update_fn *pipes_update;
    pipeline_final_fn *pipes_final;
};

/* 1 if all of them are there. */
int pipes_find_functions(OSSL_PROVIDER *provider, const char *name, struct pipes_functions *f);

/* ---- One context, by either way ---------------------------------------------- */

struct pipes {
    struct pipes_functions functions;
    void *direct; /* NULL: through EVP */
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *evp;
    size_t count;
};

int pipes_open(struct pipes *p, const struct providers *both, const char *name, int by_evp);
void pipes_close(struct pipes *p);

/* Puts a copy in its place. */
int pipes_become_copy(struct pipes *p);

/* The cipher is named once: 3.5 forgets the number of pipes where it is named again. */
int pipes_init(struct pipes *p, int encrypt, const unsigned char *key, size_t key_bytes,
               size_t count, const unsigned char **iv, size_t iv_bytes);
int pipes_update(struct pipes *p, unsigned char **out, size_t *out_bytes, const size_t *room,
                 const unsigned char **in, const size_t *in_bytes);
int pipes_final(struct pipes *p, unsigned char **out, size_t *out_bytes, const size_t *room);
int pipes_get_params(struct pipes *p, OSSL_PARAM params[]);

/* Through EVP, as everybody does it, so that EVP knows too. */
int pipes_set_padding(struct pipes *p, unsigned padding);

#endif
