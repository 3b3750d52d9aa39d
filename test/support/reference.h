/*
 * What libcrypto makes of a message of any operation. No function of libgpuaes is called, so that
 * programs that load the module link this, too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_REFERENCE_H
#define GPUAES_TEST_REFERENCE_H

#include <openssl/evp.h>

#include "cuda/gpuaes.h"

/* All of enum gpuaes_op. */
enum { ALL_OPS = GPUAES_XTS_DECRYPT + 1 };

int op_encrypts(enum gpuaes_op op); /* CTR does */
int op_is_gcm(enum gpuaes_op op);
int op_is_xts(enum gpuaes_op op);

/* `key_bytes` of XTS are those of both keys. */
const EVP_CIPHER *reference_cipher(enum gpuaes_op op, size_t key_bytes);

/* `iv_bytes`, from 1 to 128, and additional data are of GCM alone. */
struct reference_message {
    enum gpuaes_op op;
    const unsigned char *key;
    size_t key_bytes;
    const unsigned char *iv;
    size_t iv_bytes;
    const unsigned char *aad;
    size_t aad_bytes;
};

/*
 * Runs a message from `in` to `out`. Of GCM, `tag` becomes the tag that belongs to the message, in
 * decryption as well. Ends the program where libcrypto refuses the key or the IV.
 */
void reference_run(const struct reference_message *m, const void *in, void *out, size_t len,
                   unsigned char tag[16]);

#endif
