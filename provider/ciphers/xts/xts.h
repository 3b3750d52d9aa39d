/*
 * The dispatch tables of AES-XTS, such as xts_128.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_XTS_CIPHER_H
#define GPUAES_PROVIDER_CIPHERS_XTS_CIPHER_H

#include <openssl/core_dispatch.h>

#include "provider/common/default_ciphers.h"

/* M(bits, names): one row for each cipher, names as the default provider's. A key is two of AES. */
#define XTS_CIPHERS(M)                                                                             \
    M(128, "AES-128-XTS:1.3.111.2.1619.0.1.1")                                                     \
    M(256, "AES-256-XTS:1.3.111.2.1619.0.1.2")

#define XTS_DECLARE(bits, names) extern const OSSL_DISPATCH xts_##bits[];
XTS_CIPHERS(XTS_DECLARE)
#undef XTS_DECLARE

/*
 * Learns the default provider's part of both ciphers. Call before any of them is used; once in a
 * process is enough. Returns 0 if it lacks a function.
 */
int xts_learn_ciphers(const struct cpu *cpu);

#endif
