/*
 * AES-GCM, NIST SP 800-38D: the ciphers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_CIPHER_H
#define GPUAES_PROVIDER_CIPHERS_GCM_CIPHER_H

#include "provider/common/default_ciphers.h"

/* M(bits, names, ctr): one row for each cipher, names as the default provider's. */
#define GCM_CIPHERS(M)                                                                             \
    M(128, "AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", "AES-128-CTR")                      \
    M(192, "AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26", "AES-192-CTR")                     \
    M(256, "AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", "AES-256-CTR")

struct gcm_cipher {
    const char *names, *ctr_names;
    unsigned key_bytes;
    struct cpu_cipher cpu, ctr; /* the default provider's functions */

    /* The parameters of a context: ours and the default provider's. */
    OSSL_PARAM gettable[32], settable[32];

    /* What EVP calls. It has no dupctx where the default provider has none. */
    OSSL_DISPATCH functions[20];
};

enum {
#define GCM_ENUM(bits, names, ctr) GCM_##bits,
    GCM_CIPHERS(GCM_ENUM)
#undef GCM_ENUM
        GCM_CIPHER_COUNT
};
extern struct gcm_cipher gcm_ciphers[GCM_CIPHER_COUNT];

/*
 * Learns the default provider's part of all ciphers, and fills their tables. Call before any of
 * them is used; once in a process is enough. Returns 0 if it lacks a function.
 */
int gcm_learn_ciphers(const struct cpu *cpu);

#endif
