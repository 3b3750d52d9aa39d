/*
 * Base64 as a keyless cipher, "BASE64": encryption encodes, decryption decodes.
 *
 * EVP promises a cipher only the input's length and a block less one byte of room,
 * and encoding grows by a third. So `outsize` is always honoured: an update that
 * does not fit is refused with OUTPUT_TOO_SMALL and has consumed nothing, and
 * an application that has given more room says so before the update:
 *
 *   outsize           size_t  room of the next update's output, that one only
 *   line-length       size_t  0 (default), 64 or 76; see codec.h
 *   skip-white-space  int     decoding; 0 (default) is strict
 *
 * The last two take effect at the next initialisation, or at once if no update
 * has been made since the last one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_CIPHER_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_CIPHER_H

#include <openssl/core_dispatch.h>

extern const OSSL_DISPATCH base64_cipher_functions[];

#endif
