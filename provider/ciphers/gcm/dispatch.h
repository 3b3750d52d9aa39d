/*
 * What EVP calls of AES-GCM.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_DISPATCH_H
#define GPUAES_PROVIDER_CIPHERS_GCM_DISPATCH_H

#include "provider/ciphers/gcm/cipher.h"

/* The functions of each cipher, all of them. */
extern const OSSL_DISPATCH *const gcm_functions[GCM_CIPHER_COUNT];

#endif
