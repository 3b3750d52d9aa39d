/*
 * Base64 as a keyless cipher, "BASE64": encryption encodes, decryption decodes.
 *
 * provider-gpuaes(7) has its parameters. An update that does not fit into `outsize` is refused with
 * OUTPUT_TOO_SMALL and has consumed nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_BASE64_CIPHER_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_BASE64_CIPHER_H

#include <openssl/core_dispatch.h>

extern const OSSL_DISPATCH base64_cipher_functions[];

#endif
