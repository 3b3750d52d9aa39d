/*
 * Base64 as an OSSL_ENCODER, {"OCTETS", "provider=gpuaes,output=base64"}, and as an
 * OSSL_DECODER, {"OCTETS", "provider=gpuaes,input=base64"}; see provider-gpuaes(7) and
 * docs/examples/base64_objects.c. The object of both is a byte string: an array of OSSL_PARAM with
 * one octet string, OSSL_OBJECT_PARAM_DATA. What the decoder hands on is valid during the call.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_CODERS_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_CODERS_H

#include <openssl/core_dispatch.h>

extern const OSSL_DISPATCH base64_encoder_functions[];
extern const OSSL_DISPATCH base64_decoder_functions[];

#endif
