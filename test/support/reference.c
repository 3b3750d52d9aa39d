/*
 * What libcrypto makes of a message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/reference.h"

#include <stdio.h>
#include <stdlib.h>

int op_encrypts(enum gpuaes_op op)
{
    return op != GPUAES_ECB_DECRYPT && op != GPUAES_CBC_DECRYPT && op != GPUAES_GCM_DECRYPT &&
           op != GPUAES_XTS_DECRYPT;
}

int op_is_gcm(enum gpuaes_op op)
{
    return op == GPUAES_GCM_ENCRYPT || op == GPUAES_GCM_DECRYPT;
}

int op_is_xts(enum gpuaes_op op)
{
    return op == GPUAES_XTS_ENCRYPT || op == GPUAES_XTS_DECRYPT;
}

const EVP_CIPHER *reference_cipher(enum gpuaes_op op, size_t key_bytes)
{
    static const EVP_CIPHER *(*const ciphers[ALL_OPS][3])(void) = {
        [GPUAES_ECB_ENCRYPT] = {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        [GPUAES_ECB_DECRYPT] = {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        [GPUAES_CBC_ENCRYPT] = {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
        [GPUAES_CBC_DECRYPT] = {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
        [GPUAES_CTR] = {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
        [GPUAES_GCM_ENCRYPT] = {EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm},
        [GPUAES_GCM_DECRYPT] = {EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm},
        [GPUAES_XTS_ENCRYPT] = {EVP_aes_128_xts, NULL, EVP_aes_256_xts},
        [GPUAES_XTS_DECRYPT] = {EVP_aes_128_xts, NULL, EVP_aes_256_xts},
    };
    return ciphers[op][(op_is_xts(op) ? key_bytes / 2 : key_bytes) / 8 - 2]();
}

/* One pass over the text, and its tag if it is encrypted. */
static void run(const struct reference_message *m, int encrypts, const unsigned char *in,
                unsigned char *out, size_t len, unsigned char tag[16])
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char nothing[16];
    int n, is_gcm = op_is_gcm(m->op);
    if (!EVP_CipherInit_ex(c, reference_cipher(m->op, m->key_bytes), NULL, NULL, NULL, encrypts) ||
        (is_gcm && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_bytes, NULL) <= 0) ||
        !EVP_CipherInit_ex(c, NULL, NULL, m->key, m->iv, encrypts) ||
        !EVP_CIPHER_CTX_set_padding(c, 0) ||
        (is_gcm && m->aad_bytes != 0 &&
         !EVP_CipherUpdate(c, NULL, &n, m->aad, (int)m->aad_bytes)) ||
        (len != 0 && !EVP_CipherUpdate(c, out, &n, in, (int)len)) ||
        (is_gcm && encrypts &&
         (!EVP_EncryptFinal_ex(c, nothing, &n) ||
          EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) <= 0))) {
        fprintf(stderr, "# libcrypto refuses a message of %zu bytes\n", len);
        abort();
    }
    EVP_CIPHER_CTX_free(c);
}

void reference_run(const struct reference_message *m, const void *in, void *out, size_t len,
                   unsigned char tag[16])
{
    run(m, op_encrypts(m->op), in, out, len, tag);
    if (m->op != GPUAES_GCM_DECRYPT)
        return;
    unsigned char *again = malloc(len + 1);
    run(m, 1, out, again, len, tag);
    free(again);
}
