/*
 * Finding the default provider's ciphers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/default_ciphers.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

static void learn_function(struct cpu_cipher *c, const OSSL_DISPATCH *f)
{
    switch (f->function_id) {
#define CPU_CASE(NAME, name)                                                                       \
    case OSSL_FUNC_CIPHER_##NAME:                                                                  \
        c->name = OSSL_FUNC_cipher_##name(f);                                                      \
        break;
        CPU_FUNCTIONS(CPU_CASE)
#undef CPU_CASE
    default:
        break;
    }
}

/* OpenSSL 3.0 has no DUPCTX for some ciphers. */
static int has_all(struct cpu_cipher c, int needs_dupctx)
{
    if (!needs_dupctx && c.dupctx == NULL)
        c.dupctx = (OSSL_FUNC_cipher_dupctx_fn *)c.newctx;
#define CPU_HAS(NAME, name) &&c.name != NULL
    return 1 CPU_FUNCTIONS(CPU_HAS);
#undef CPU_HAS
}

/* Names are separated by colons, the canonical one first. */
static int have_same_name(const char *one, const char *other)
{
    size_t len = strcspn(one, ":");
    return strcspn(other, ":") == len && strncmp(one, other, len) == 0;
}

int cpu_learn(const struct cpu *cpu, const char *names, struct cpu_cipher *cipher, int needs_dupctx)
{
    int no_cache;
    const OSSL_ALGORITHM *all =
        OSSL_PROVIDER_query_operation(cpu->provider, OSSL_OP_CIPHER, &no_cache);
    memset(cipher, 0, sizeof *cipher);
    for (const OSSL_ALGORITHM *a = all; a != NULL && a->algorithm_names != NULL; a++)
        if (have_same_name(a->algorithm_names, names))
            for (const OSSL_DISPATCH *f = a->implementation; f->function_id != 0; f++)
                learn_function(cipher, f);
    OSSL_PROVIDER_unquery_operation(cpu->provider, OSSL_OP_CIPHER, all);
    return has_all(*cipher, needs_dupctx);
}

int cpu_open(struct cpu *cpu)
{
    memset(cpu, 0, sizeof *cpu);
    cpu->libctx = OSSL_LIB_CTX_new();
    if (cpu->libctx != NULL)
        cpu->provider = OSSL_PROVIDER_load(cpu->libctx, "default");
    if (cpu->provider != NULL) {
        cpu->context = OSSL_PROVIDER_get0_provider_ctx(cpu->provider);
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

int cpu_get_length(const struct cpu_cipher *cipher, OSSL_PARAM params[])
{
    if (params == NULL || params[0].key == NULL || params[1].key != NULL)
        return 0;
    if (strcmp(params[0].key, OSSL_CIPHER_PARAM_KEYLEN) == 0)
        return OSSL_PARAM_set_size_t(params, cipher->key_bytes);
    return strcmp(params[0].key, OSSL_CIPHER_PARAM_IVLEN) == 0 &&
           OSSL_PARAM_set_size_t(params, cipher->iv_bytes);
}

int cpu_set_uint(const struct cpu_cipher *cipher, void *context, const char *name, unsigned value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_construct_end()};
    return cipher->set_ctx_params(context, params);
}

int cpu_set_size(const struct cpu_cipher *cipher, void *context, const char *name, size_t value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(name, &value), OSSL_PARAM_construct_end()};
    return cipher->set_ctx_params(context, params);
}
