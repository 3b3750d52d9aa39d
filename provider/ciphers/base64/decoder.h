/*
 * Base64 as an OSSL_DECODER: {"OCTETS", "provider=gpuaes,input=base64"}.
 *
 * Reads its BIO to the end and gives the application's construct callback
 * (OSSL_DECODER_CTX_set_construct) an object of type OSSL_OBJECT_UNKNOWN, data
 * type "OCTETS", with the bytes as "data" (OSSL_OBJECT_PARAM_DATA), which are
 * valid during the call. Set the input type "BASE64" on the OSSL_DECODER_CTX.
 * Invalid text is an error that names the offset. So is a read that fails where BIO_eof() does
 * not say that the BIO is at its end, as with one that does not block.
 *
 * Parameters, through OSSL_DECODER_CTX_set_params(): line-length and
 * skip-white-space, as in codec.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_DECODER_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_DECODER_H

#include <openssl/core_dispatch.h>

extern const OSSL_DISPATCH base64_decoder_functions[];

#endif
