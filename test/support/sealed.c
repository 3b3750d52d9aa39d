/*
 * Messages of AES-GCM.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/sealed.h"

/* ---- What is expected --------------------------------------------------------------- */

/* By the default provider, from `in` to `expected`. */
static int seal(struct sealed *s, unsigned char *in, unsigned char *expected)
{
    EVP_CIPHER_CTX *c = context_open(0, s->cipher, s->key, s->iv, 1, NULL);
    int n = 0;
    int ok = c != NULL && EVP_EncryptUpdate(c, NULL, &n, s->aad, sizeof s->aad) &&
             EVP_EncryptUpdate(c, expected, &n, in, (int)s->bytes) &&
             EVP_EncryptFinal_ex(c, expected + s->bytes, &n) &&
             EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, SEALED_TAG, s->tag) > 0;
    EVP_CIPHER_CTX_free(c);
    return ok;
}

struct sealed sealed_make(const char *cipher, int encrypt, size_t bytes, uint64_t seed)
{
    struct tap_random random = {seed | 1};
    struct sealed s = {.cipher = cipher, .encrypt = encrypt, .bytes = bytes};
    unsigned char *plain = malloc(bytes + BUFSIZ), *sealed = malloc(bytes + BUFSIZ);
    tap_random_bytes(&random, s.key, sizeof s.key);
    tap_random_bytes(&random, s.iv, sizeof s.iv);
    tap_random_bytes(&random, s.aad, sizeof s.aad);
    tap_random_bytes(&random, plain, bytes);
    if (!seal(&s, plain, sealed))
        abort();
    s.in = encrypt ? plain : sealed;
    s.expected = encrypt ? sealed : plain;
    return s;
}

void sealed_free(struct sealed *s)
{
    free(s->in);
    free(s->expected);
}

/* ---- Contexts of ours ----------------------------------------------------------------- */

static int begin(const struct sealed *s, EVP_CIPHER_CTX *c)
{
    int n;
    return (s->encrypt ||
            EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, SEALED_TAG, (void *)s->tag) > 0) &&
           EVP_CipherUpdate(c, NULL, &n, s->aad_there != NULL ? s->aad_there : s->aad,
                            sizeof s->aad);
}

EVP_CIPHER_CTX *sealed_open(const struct sealed *s, const OSSL_PARAM *params)
{
    EVP_CIPHER_CTX *c = context_open(1, s->cipher, s->key, s->iv, s->encrypt, params);
    if (c != NULL && !begin(s, c)) {
        EVP_CIPHER_CTX_free(c);
        return NULL;
    }
    return c;
}

int sealed_begin(const struct sealed *s, EVP_CIPHER_CTX *c)
{
    return EVP_CipherInit_ex2(c, NULL, s->key, s->iv, s->encrypt, NULL) && begin(s, c);
}

int sealed_update(const struct sealed *s, EVP_CIPHER_CTX *c, unsigned char *out, size_t at,
                  size_t bytes, int in_place)
{
    int n = -1;
    const unsigned char *in = s->in + at;
    if (in_place)
        in = memcpy(out + at, in, bytes);
    return EVP_CipherUpdate(c, out + at, &n, in, (int)bytes) == 1 && n == (int)bytes &&
           memcmp(out + at, s->expected + at, bytes) == 0;
}

int sealed_end(const struct sealed *s, EVP_CIPHER_CTX *c)
{
    unsigned char nothing[SEALED_TAG], tag[SEALED_TAG];
    int n = -1;
    if (EVP_CipherFinal_ex(c, nothing, &n) != 1 || n != 0)
        return 0;
    return !s->encrypt || (EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, SEALED_TAG, tag) > 0 &&
                           memcmp(tag, s->tag, SEALED_TAG) == 0);
}

int sealed_agrees(const struct sealed *s, EVP_CIPHER_CTX *c, unsigned char *out, size_t updates,
                  int in_place)
{
    size_t step = s->bytes / updates + 1;
    int right = 1;
    for (size_t at = 0; right && at < s->bytes; at += step)
        right = sealed_update(s, c, out, at, step < s->bytes - at ? step : s->bytes - at, in_place);
    return right && sealed_end(s, c);
}
