/*
 * The state of an AES-XTS context. One update is one data unit: nothing but key and tweak is kept
 * from one to the next.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_XTS_CONTEXT_H
#define GPUAES_PROVIDER_CIPHERS_XTS_CONTEXT_H

#include "cuda/gpuaes.h"
#include "provider/common/provider.h"
#include "provider/common/statistics.h"

/* The default provider's functions: of the cipher, and of ECB for single tweaks. */
struct xts_cipher {
    unsigned key_bytes; /* of each half: the first is for data, the second for tweaks */
    struct cpu_cipher cpu, ecb;
    const OSSL_PARAM *gettable, *settable; /* the parameters of a context: the default provider's */
};

struct xts_context {
    /* What every small update needs. */
    void *cpu; /* the default provider's context, which has the whole state, always */
    OSSL_FUNC_cipher_update_fn *cpu_update;
    OSSL_FUNC_cipher_cipher_fn *cpu_cipher;
    OSSL_FUNC_cipher_encrypt_init_fn *cpu_init[2]; /* of decryption and of encryption */
    size_t small; /* updates of fewer bytes are the CPU's, and not counted */
    size_t large; /* updates of so many bytes may be the device's */
    int encrypting, has_iv;

    const struct xts_cipher *cipher;
    struct provider *provider;
    struct totals totals;
    enum cpu_reason others; /* why smaller updates are the CPU's */
    int stays_on_cpu;       /* so the last choice was */
    size_t unasked;         /* bytes since that */

    int cpu_has_key;    /* `cpu` was given one */
    int has_key;        /* and it is this one: */
    int key_encrypting; /* the direction that the key was given for */
    unsigned char key[2][32];
    int expanded;
    struct gpuaes_key schedule; /* of the first half */
};

#endif
