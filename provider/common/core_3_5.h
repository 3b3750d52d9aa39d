/*
 * What <openssl/core_dispatch.h> says of opaque symmetric keys (EVP_SKEY) since OpenSSL 3.5, so
 * that a module that is built with older headers has them too: an older libcrypto neither asks for
 * what it does not know nor calls it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_CORE_3_5_H
#define GPUAES_PROVIDER_COMMON_CORE_3_5_H

#include <openssl/core.h>
#include <stddef.h>

/*
 * OSSL_OP_SKEYMGMT, OSSL_FUNC_SKEYMGMT_*, OSSL_SKEYMGMT_SELECT_SECRET_KEY and
 * OSSL_FUNC_CIPHER_*_SKEY_INIT.
 */
enum {
    OPERATION_SKEYMGMT = 15,
    SKEYMGMT_FREE = 1,
    SKEYMGMT_IMPORT = 2,
    SKEYMGMT_EXPORT = 3,
    SKEYMGMT_IMPORT_SETTABLE_PARAMS = 6,
    SKEYMGMT_SELECT_SECRET_KEY = 2,
    CIPHER_ENCRYPT_SKEY_INIT = 19,
    CIPHER_DECRYPT_SKEY_INIT = 20
};

/* OSSL_SKEY_PARAM_RAW_BYTES: the key. */
#define SKEY_PARAM_RAW_BYTES "raw-bytes"

/* OSSL_FUNC_skeymgmt_*_fn; see provider-skeymgmt(7). */
typedef void skeymgmt_free_fn(void *key);
typedef void *skeymgmt_import_fn(void *provider, int selection, const OSSL_PARAM params[]);
typedef int skeymgmt_export_fn(void *key, int selection, OSSL_CALLBACK *callback, void *argument);
typedef const OSSL_PARAM *skeymgmt_import_settable_params_fn(void *provider);

/* OSSL_FUNC_cipher_*_skey_init_fn; see provider-cipher(7). */
typedef int cipher_skey_init_fn(void *context, void *key, const unsigned char *iv, size_t iv_bytes,
                                const OSSL_PARAM params[]);

#endif
