/*
 * Opaque symmetric keys (EVP_SKEY, since OpenSSL 3.5). libcrypto gives a cipher only keys of
 * the cipher's own provider, so the ciphers need a key management here. It has the types of
 * the default provider, "AES" and "GENERIC-SECRET", and takes and gives the same parameter.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_KEYS_SKEY_H
#define GPUAES_PROVIDER_KEYS_SKEY_H

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

#include "provider/common/core_3_5.h"

/*
 * The object behind an EVP_SKEY of this provider. It is our own, not one of the default
 * provider: OpenSSL 3.5 frees the bytes of those without cleansing them.
 */
struct skey {
    size_t length;
    unsigned char bytes[];
};

/*
 * Defines encrypt_skey_init() and decrypt_skey_init() of a room of ciphers by its encrypt_init()
 * and decrypt_init(). Without a key, the one there is stays, and the IV or the parameters are new.
 */
#define SKEY_INITS(room)                                                                           \
    SKEY_INIT(room##_encrypt)                                                                      \
    SKEY_INIT(room##_decrypt)
#define SKEY_INIT(prefix)                                                                          \
    static cipher_skey_init_fn prefix##_skey_init;                                                 \
    static int prefix##_skey_init(void *context, void *key, const unsigned char *iv,               \
                                  size_t iv_bytes, const OSSL_PARAM params[])                      \
    {                                                                                              \
        const struct skey *k = key;                                                                \
        return prefix##_init(context, k == NULL ? NULL : k->bytes, k == NULL ? 0 : k->length, iv,  \
                             iv_bytes, params);                                                    \
    }

extern const OSSL_DISPATCH skey_aes_functions[];
extern const OSSL_DISPATCH skey_generic_functions[];

#endif
