/*
 * All ciphers of AES, as OpenSSL sees them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_DISPATCH_H
#define GPUAES_PROVIDER_CIPHERS_DISPATCH_H

#include "provider/ciphers/context.h"

/*
 * C(bits, MODE, room, names): one row for each cipher, names as the default provider's; its
 * functions are those of a room below.
 */
#define CIPHERS(C)                                                                                 \
    C(128, ECB, blocks, "AES-128-ECB:2.16.840.1.101.3.4.1.1")                                      \
    C(192, ECB, blocks, "AES-192-ECB:2.16.840.1.101.3.4.1.21")                                     \
    C(256, ECB, blocks, "AES-256-ECB:2.16.840.1.101.3.4.1.41")                                     \
    C(128, CBC, blocks, "AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2")                               \
    C(192, CBC, blocks, "AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22")                              \
    C(256, CBC, blocks, "AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42")                              \
    C(128, CTR, blocks, "AES-128-CTR")                                                             \
    C(192, CTR, blocks, "AES-192-CTR")                                                             \
    C(256, CTR, blocks, "AES-256-CTR")                                                             \
    C(128, GCM, gcm, "AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6")                           \
    C(192, GCM, gcm, "AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26")                          \
    C(256, GCM, gcm, "AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46")                          \
    C(128, XTS, blocks, "AES-128-XTS:1.3.111.2.1619.0.1.1")                                        \
    C(256, XTS, blocks, "AES-256-XTS:1.3.111.2.1619.0.1.2")

enum {
#define CIPHER_ENUM(bits, MODE, room, names) AES_##bits##_##MODE,
    CIPHERS(CIPHER_ENUM)
#undef CIPHER_ENUM
        CIPHER_COUNT
};
extern struct cipher ciphers[CIPHER_COUNT];

/*
 * Learns the default provider's part of all ciphers, and fills their tables. Call before any of
 * them is used; once in a process is enough. Returns 0 if it lacks a function.
 */
int learn_ciphers(const struct cpu *cpu);

#endif
