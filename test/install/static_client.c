/*
 * A program with a libcrypto of its own, linked statically: our module brings another one
 * into the process. Encrypts a buffer by what its configuration prefers and by the default
 * provider, and exits as programs do; 0 if both agree.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/evp.h>
#include <string.h>

static unsigned char plain[100000], ours[sizeof plain], theirs[sizeof plain];

static int encrypt(unsigned char *out, const char *properties)
{
    static const unsigned char key[32] = {1}, iv[16] = {2};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-CTR", properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written;
    int ok = cipher != NULL && EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) &&
             EVP_EncryptUpdate(context, out, &written, plain, sizeof plain);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return ok;
}

int main(void)
{
    return !encrypt(ours, NULL) || !encrypt(theirs, "provider=default") ||
           memcmp(ours, theirs, sizeof plain) != 0;
}
