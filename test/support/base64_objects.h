/*
 * Base64 by libcrypto's encoders and decoders, for what a library context has of them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_BASE64_OBJECTS_H
#define GPUAES_TEST_BASE64_OBJECTS_H

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <stddef.h>

struct format {
    size_t line_length;
    int skip; /* white space, where text is decoded */
};

struct bytes {
    unsigned char *data;
    size_t length;
};

/* Both set `to` to memory for OPENSSL_free(), and return 0 if the data is refused. */
int base64_encode_object(OSSL_LIB_CTX *libctx, const struct bytes *plain, struct bytes *to,
                         struct format format);
int base64_decode_object(OSSL_LIB_CTX *libctx, BIO *text, struct bytes *to, struct format format);

#endif
