/*
 * Base64 as an OSSL_ENCODER, {"OCTETS", "provider=gpuaes,output=base64"}, and as an
 * OSSL_DECODER, {"OCTETS", "provider=gpuaes,input=base64"}. Parameters, through
 * OSSL_ENCODER_CTX_set_params() or OSSL_DECODER_CTX_set_params(): line-length and, for
 * decoding, skip-white-space, as in codec.h.
 *
 * The object to encode is a byte string. OpenSSL passes an application's object
 * on as the pointer that its construct callback (OSSL_ENCODER_CTX_set_construct)
 * returned; here that is an array of OSSL_PARAM with one octet string, "data"
 * (OSSL_OBJECT_PARAM_DATA):
 *
 *   static const void *construct(OSSL_ENCODER_INSTANCE *instance, void *arg)
 *   {
 *       return arg;  // what OSSL_ENCODER_CTX_set_construct_data() was given
 *   }
 *
 *   OSSL_PARAM object[] = {
 *       OSSL_PARAM_octet_string(OSSL_OBJECT_PARAM_DATA, bytes, length),
 *       OSSL_PARAM_END};
 *
 * An abstract object (OSSL_ENCODER's obj_abstract) is the same array. A cleanup
 * callback is needed too; it may do nothing. OSSL_ENCODER_CTX_free() frees the
 * construct data with OPENSSL_free(): allocate it with OPENSSL_malloc(), or set
 * it to NULL before.
 *
 * The decoder reads its BIO to the end and gives the application's construct callback
 * (OSSL_DECODER_CTX_set_construct) an object of type OSSL_OBJECT_UNKNOWN, data
 * type "OCTETS", with the bytes as "data" (OSSL_OBJECT_PARAM_DATA), which are
 * valid during the call. Set the input type "BASE64" on the OSSL_DECODER_CTX.
 * Invalid text is an error that names the offset. So is a read that fails where BIO_eof() does
 * not say that the BIO is at its end, as with one that does not block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_CODERS_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_CODERS_H

#include <openssl/core_dispatch.h>

extern const OSSL_DISPATCH base64_encoder_functions[];
extern const OSSL_DISPATCH base64_decoder_functions[];

#endif
