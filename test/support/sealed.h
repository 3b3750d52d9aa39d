/*
 * Messages of AES-GCM for tests of all that may happen to a device meanwhile: the text in pieces,
 * by a context of ours, and what the default provider makes of it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_SEALED_H
#define GPUAES_TEST_SEALED_H

#include "test/support/providers.h"

enum { SEALED_TAG = 16 };

/* A message, its key and IV. The input and what is expected of it lie in memory of its own. */
struct sealed {
    const char *cipher;
    int encrypt;
    size_t bytes;
    unsigned char key[32], iv[12], aad[29], tag[SEALED_TAG];
    unsigned char *in, *expected;
    const unsigned char *aad_there; /* contexts of ours are given it from here; NULL: from above */
};

/* Makes a random message, the same for the same seed. Ends the program where that fails. */
struct sealed sealed_make(const char *cipher, int encrypt, size_t bytes, uint64_t seed);
void sealed_free(struct sealed *s);

/*
 * Opens a context of ours that has the key, the IV, the additional data and, for a decryption, the
 * tag. Returns NULL where one of them is refused.
 */
EVP_CIPHER_CTX *sealed_open(const struct sealed *s, const OSSL_PARAM *params);

/* Begins the same message again in a context of the same cipher. Returns 1, or 0 if refused. */
int sealed_begin(const struct sealed *s, EVP_CIPHER_CTX *context);

/*
 * Gives the next `bytes` of the text, which begin at `at`, to the context. The output comes to lie
 * in `out`, that of the whole text; with `in_place` the input is put there first. Returns 1 if
 * they are right.
 */
int sealed_update(const struct sealed *s, EVP_CIPHER_CTX *context, unsigned char *out, size_t at,
                  size_t bytes, int in_place);

/* Ends the message. Returns 1 if its tag is right, or was found right. */
int sealed_end(const struct sealed *s, EVP_CIPHER_CTX *context);

/* One message from its beginning to its end, in so many updates of about the same length. */
int sealed_agrees(const struct sealed *s, EVP_CIPHER_CTX *context, unsigned char *out,
                  size_t updates, int in_place);

#endif
