/*
 * OpenSSL as the command uses it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/common/library.h"

#include <openssl/err.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/common/message.h"
#include "tool/common/place.h"

int library_open(struct library *library)
{
    *library = (struct library){.context = OSSL_LIB_CTX_new()};
    if (library->context == NULL)
        return complain_openssl("OpenSSL gives no library context");
    if (secure_getenv("OPENSSL_MODULES") == NULL)
        (void)OSSL_PROVIDER_set_default_search_path(library->context, place_modules());
    /* The first one does the work of those that do not ask for ours. */
    library->base = OSSL_PROVIDER_load(library->context, "default");
    if (library->base == NULL) {
        library_close(library);
        return complain_openssl("the default provider of OpenSSL cannot be loaded");
    }
    ERR_clear_error();
    library->gpuaes = OSSL_PROVIDER_load(library->context, "gpuaes");
    /* The first error has the path and what dlopen() says of it, the last one the name alone. */
    if (library->gpuaes == NULL)
        (void)snprintf(library->why_not, sizeof library->why_not, "%s", openssl_first_reason());
    return 1;
}

void library_close(struct library *library)
{
    if (library->gpuaes != NULL)
        (void)OSSL_PROVIDER_unload(library->gpuaes);
    if (library->base != NULL)
        (void)OSSL_PROVIDER_unload(library->base);
    OSSL_LIB_CTX_free(library->context);
    *library = (struct library){0};
}

uint64_t library_figure(const struct library *library, const char *name)
{
    uint64_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64(name, &value), OSSL_PARAM_construct_end()};
    if (library->gpuaes == NULL || !OSSL_PROVIDER_get_params(library->gpuaes, params))
        return 0;
    return value;
}
