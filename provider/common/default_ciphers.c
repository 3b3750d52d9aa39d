/*
 * Finding the default provider's AES.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/default_ciphers.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <string.h>

static struct cpu_cipher ciphers[AES_MODES][KEY_SIZES];
static pthread_mutex_t ciphers_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const names[AES_MODES][KEY_SIZES] = {
    [AES_ECB] = {"AES-128-ECB", "AES-192-ECB", "AES-256-ECB"},
    [AES_CBC] = {"AES-128-CBC", "AES-192-CBC", "AES-256-CBC"},
    [AES_CTR] = {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR"},
};

const struct cpu_cipher *cpu_cipher(enum aes_mode mode, unsigned key_bytes)
{
    return &ciphers[mode][key_size_index(key_bytes)];
}

static void learn_function(struct cpu_cipher *c, const OSSL_DISPATCH *f)
{
    switch (f->function_id) {
#define CASE(id, member)                                                                           \
    case id:                                                                                       \
        c->member = OSSL_FUNC_cipher_##member(f);                                                  \
        break;
        CASE(OSSL_FUNC_CIPHER_NEWCTX, newctx)
        CASE(OSSL_FUNC_CIPHER_FREECTX, freectx)
        CASE(OSSL_FUNC_CIPHER_DUPCTX, dupctx)
        CASE(OSSL_FUNC_CIPHER_ENCRYPT_INIT, encrypt_init)
        CASE(OSSL_FUNC_CIPHER_DECRYPT_INIT, decrypt_init)
        CASE(OSSL_FUNC_CIPHER_UPDATE, update)
        CASE(OSSL_FUNC_CIPHER_FINAL, final)
        CASE(OSSL_FUNC_CIPHER_CIPHER, cipher)
        CASE(OSSL_FUNC_CIPHER_GET_PARAMS, get_params)
        CASE(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, gettable_params)
        CASE(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get_ctx_params)
        CASE(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params)
        CASE(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, set_ctx_params)
        CASE(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params)
#undef CASE
    default:
        break;
    }
}

/* 1 if every function that we call is there. */
static int learn(struct cpu_cipher *c, const OSSL_DISPATCH *functions)
{
    memset(c, 0, sizeof *c);
    for (const OSSL_DISPATCH *f = functions; f->function_id != 0; f++)
        learn_function(c, f);
    return c->newctx != NULL && c->freectx != NULL && c->dupctx != NULL &&
           c->encrypt_init != NULL && c->decrypt_init != NULL && c->update != NULL &&
           c->final != NULL && c->cipher != NULL && c->get_params != NULL &&
           c->gettable_params != NULL && c->get_ctx_params != NULL &&
           c->gettable_ctx_params != NULL && c->set_ctx_params != NULL &&
           c->settable_ctx_params != NULL;
}

/* `names` of an OSSL_ALGORITHM are separated by colons, the canonical one first. */
static int is_named(const OSSL_ALGORITHM *algorithm, const char *name)
{
    size_t len = strlen(name);
    const char *first = algorithm->algorithm_names;
    return strncmp(first, name, len) == 0 && (first[len] == '\0' || first[len] == ':');
}

static int learn_all(OSSL_PROVIDER *provider)
{
    int no_cache, learnt = 0;
    const OSSL_ALGORITHM *all = OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &no_cache);
    for (const OSSL_ALGORITHM *a = all; a != NULL && a->algorithm_names != NULL; a++)
        for (int mode = 0; mode < AES_MODES; mode++)
            for (int k = 0; k < KEY_SIZES; k++)
                if (is_named(a, names[mode][k]))
                    learnt += learn(&ciphers[mode][k], a->implementation);
    OSSL_PROVIDER_unquery_operation(provider, OSSL_OP_CIPHER, all);
    return learnt == AES_MODES * KEY_SIZES;
}

int cpu_open(struct cpu *cpu)
{
    static int learnt; /* once is enough: the functions never change */
    memset(cpu, 0, sizeof *cpu);
    cpu->libctx = OSSL_LIB_CTX_new();
    if (cpu->libctx != NULL)
        cpu->provider = OSSL_PROVIDER_load(cpu->libctx, "default");
    if (cpu->provider != NULL) {
        cpu->context = OSSL_PROVIDER_get0_provider_ctx(cpu->provider);
        (void)pthread_mutex_lock(&ciphers_lock);
        learnt = learnt || learn_all(cpu->provider);
        int ok = learnt;
        (void)pthread_mutex_unlock(&ciphers_lock);
        if (ok)
            return 1;
    }
    cpu_close(cpu);
    return 0;
}

void cpu_close(struct cpu *cpu)
{
    if (cpu->provider != NULL)
        (void)OSSL_PROVIDER_unload(cpu->provider);
    OSSL_LIB_CTX_free(cpu->libctx);
    memset(cpu, 0, sizeof *cpu);
}
