/*
 * The CPU side: the default provider's own ciphers, called without a detour.
 *
 * A private library context loads the default provider; its dispatch functions
 * are then called directly. (A child library context would mirror the parent's
 * providers, us among them, and going through EVP costs up to 14 % on small
 * updates.)
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_DEFAULT_CIPHERS_H
#define GPUAES_PROVIDER_COMMON_DEFAULT_CIPHERS_H

#include <openssl/core_dispatch.h>
#include <openssl/provider.h>
#include <stddef.h>

/* M(NAME, name): the functions that we call, as OSSL_FUNC_CIPHER_NAME. */
#define CPU_FUNCTIONS(M)                                                                           \
    M(NEWCTX, newctx)                                                                              \
    M(FREECTX, freectx)                                                                            \
    M(DUPCTX, dupctx)                                                                              \
    M(ENCRYPT_INIT, encrypt_init)                                                                  \
    M(DECRYPT_INIT, decrypt_init)                                                                  \
    M(UPDATE, update)                                                                              \
    M(FINAL, final)                                                                                \
    M(CIPHER, cipher)                                                                              \
    M(GET_PARAMS, get_params)                                                                      \
    M(GETTABLE_PARAMS, gettable_params)                                                            \
    M(GET_CTX_PARAMS, get_ctx_params)                                                              \
    M(GETTABLE_CTX_PARAMS, gettable_ctx_params)                                                    \
    M(SET_CTX_PARAMS, set_ctx_params)                                                              \
    M(SETTABLE_CTX_PARAMS, settable_ctx_params)

struct cpu_cipher {
#define CPU_MEMBER(NAME, name) OSSL_FUNC_cipher_##name##_fn *name;
    CPU_FUNCTIONS(CPU_MEMBER)
#undef CPU_MEMBER
    size_t iv_bytes; /* 0: it has none */
    size_t key_bytes;
};

struct cpu {
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider;
    void *context; /* the default provider's, for newctx */
};

/* 1, or 0 if the default provider cannot be loaded. */
int cpu_open(struct cpu *cpu);
void cpu_close(struct cpu *cpu);

/*
 * Finds the functions of a cipher by `names` as in an OSSL_ALGORITHM, of which the first counts.
 * They are libcrypto's, the same for the whole process. Returns 0 if the default provider lacks
 * the cipher or a function of it. OpenSSL 3.0 copies no contexts of GCM: without `needs_dupctx`
 * that function may be NULL.
 */
int cpu_learn(const struct cpu *cpu, const char *names, struct cpu_cipher *cipher,
              int needs_dupctx);

/*
 * Returns 1 with the value set if `params`, which may be NULL, asks for the length of the key or
 * of the IV and for nothing else, 0 otherwise. libcrypto asks so at each initialisation, and the
 * default provider then looks for all names that it knows. For ciphers whose lengths are fixed.
 */
int cpu_get_length(const struct cpu_cipher *cipher, OSSL_PARAM params[]);

/* Sets one parameter of a context of the default provider. Return 0 where it refuses. */
int cpu_set_uint(const struct cpu_cipher *cipher, void *context, const char *name, unsigned value);
int cpu_set_size(const struct cpu_cipher *cipher, void *context, const char *name, size_t value);

#endif
