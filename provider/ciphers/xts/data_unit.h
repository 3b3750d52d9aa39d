/*
 * Data units: which go to the device, and which stay on the CPU.
 *
 * Whole blocks are the device's. What it leaves, and blocks that ciphertext stealing makes depend
 * on each other, are finished by the default provider, as data units of their own with an IV that
 * encrypts to the tweak of their first block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_XTS_DATA_UNIT_H
#define GPUAES_PROVIDER_CIPHERS_XTS_DATA_UNIT_H

#include "provider/ciphers/context.h"

/* One update is one data unit: nothing but key and tweak is kept from one to the next. */
struct xts_context {
    /* What every small update needs. */
    void *cpu; /* the default provider's context, which has the whole state, always */
    OSSL_FUNC_cipher_update_fn *cpu_update;
    OSSL_FUNC_cipher_cipher_fn *cpu_cipher;
    OSSL_FUNC_cipher_encrypt_init_fn *cpu_init[2]; /* of decryption and of encryption */
    size_t small; /* updates of fewer bytes are the CPU's, and not counted */
    size_t large; /* updates of so many bytes may be the device's */
    int encrypting, has_iv;

    const struct cipher *cipher;
    struct provider *provider;
    struct totals totals;
    enum cpu_reason reason_if_small; /* why smaller updates are the CPU's */
    int stays_on_cpu;                /* so the last choice was */
    size_t unasked;                  /* bytes since that */

    int cpu_has_key;    /* `cpu` was given one */
    int has_key;        /* and it is this one: */
    int key_encrypting; /* the direction that the key was given for */
    unsigned char key[2][32];
    int expanded;
    struct gpuaes_key schedule; /* of the first half */
};

/* Call for new contexts, and for new keys. */
void xts_set_thresholds(struct xts_context *context);

/* An update or one-shot call of context->small bytes or more, by `function` where the CPU does it.
 */
int xts_unit(struct xts_context *context, OSSL_FUNC_cipher_update_fn *function, unsigned char *out,
             size_t *out_bytes, size_t outsize, const unsigned char *in, size_t in_bytes);

#endif
