/*
 * The key management for opaque symmetric keys.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/keys/skey.h"

#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

#include "base/key_size.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"

static skeymgmt_free_fn skey_free;
static skeymgmt_import_fn aes_import;
static skeymgmt_import_fn generic_import;
static skeymgmt_export_fn skey_export;
static skeymgmt_import_settable_params_fn skey_settable;

static void skey_free(void *key)
{
    struct skey *k = key;
    if (k != NULL)
        OPENSSL_clear_free(k, sizeof *k + k->length);
}

static struct skey *import(struct provider *provider, int selection, const OSSL_PARAM params[],
                           int aes)
{
    const OSSL_PARAM *p = OSSL_PARAM_locate_const(params, SKEY_PARAM_RAW_BYTES);
    const void *bytes;
    size_t length;
    if ((selection & SKEYMGMT_SELECT_SECRET_KEY) == 0)
        return NULL;
    if (p == NULL || !OSSL_PARAM_get_octet_string_ptr(p, &bytes, &length) || bytes == NULL ||
        length == 0 || (aes && !key_size_is_valid(length))) {
        error_raise(provider, ERROR_BAD_PARAMETER,
                    SKEY_PARAM_RAW_BYTES " must be an octet string of the bytes of the key%s",
                    aes ? ", which are 16, 24 or 32" : "");
        return NULL;
    }
    struct skey *key = OPENSSL_malloc(sizeof *key + length);
    if (key == NULL)
        return NULL;
    key->length = length;
    memcpy(key->bytes, bytes, length);
    return key;
}

static void *aes_import(void *provider, int selection, const OSSL_PARAM params[])
{
    return import(provider, selection, params, 1);
}

static void *generic_import(void *provider, int selection, const OSSL_PARAM params[])
{
    return import(provider, selection, params, 0);
}

static int skey_export(void *key, int selection, OSSL_CALLBACK *callback, void *argument)
{
    struct skey *k = key;
    if (k == NULL || (selection & SKEYMGMT_SELECT_SECRET_KEY) == 0)
        return 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(SKEY_PARAM_RAW_BYTES, k->bytes, k->length),
        OSSL_PARAM_construct_end()};
    return callback(params, argument);
}

static const OSSL_PARAM *skey_settable(void *provider)
{
    static const OSSL_PARAM settable[] = {OSSL_PARAM_octet_string(SKEY_PARAM_RAW_BYTES, NULL, 0),
                                          OSSL_PARAM_END};
    (void)provider;
    return settable;
}

#define SKEY_DEFINE(type)                                                                          \
    const OSSL_DISPATCH skey_##type##_functions[] = {                                              \
        FUNCTION(SKEYMGMT_FREE, skey_free),                                                        \
        FUNCTION(SKEYMGMT_IMPORT, type##_import),                                                  \
        FUNCTION(SKEYMGMT_EXPORT, skey_export),                                                    \
        FUNCTION(SKEYMGMT_IMPORT_SETTABLE_PARAMS, skey_settable),                                  \
        {0, NULL}};

SKEY_DEFINE(aes)
SKEY_DEFINE(generic)
