/*
 * A module that stands in for a FIPS provider: the default provider's algorithms with the property
 * fips=yes, but for encoders and decoders.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/provider.h>
#include <stdlib.h>

static OSSL_PROVIDER *base;

static const OSSL_ALGORITHM *query(void *provider, int operation, int *no_cache)
{
    static OSSL_ALGORITHM *tables[OSSL_OP_KEM + 1];
    (void)provider;
    if (operation > OSSL_OP_KEM)
        return NULL;
    const OSSL_ALGORITHM *from = OSSL_PROVIDER_query_operation(base, operation, no_cache);
    size_t count = 0;
    *no_cache = 0;
    while (from != NULL && from[count].algorithm_names != NULL)
        count++;
    if (tables[operation] == NULL)
        tables[operation] = calloc(count + 1, sizeof *tables[operation]);
    for (size_t i = 0; tables[operation] != NULL && i < count; i++) {
        tables[operation][i] = from[i];
        tables[operation][i].property_definition = "provider=fips,fips=yes";
    }
    return tables[operation];
}

static const OSSL_DISPATCH functions[] = {
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query}, {0, NULL}};

OSSL_provider_init_fn OSSL_provider_init;

int OSSL_provider_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in,
                       const OSSL_DISPATCH **out, void **context)
{
    (void)core, (void)in;
    base = OSSL_PROVIDER_load(OSSL_LIB_CTX_new(), "default");
    if (base == NULL)
        return 0;
    *out = functions;
    *context = OSSL_PROVIDER_get0_provider_ctx(base);
    return 1;
}
