/*
 * The context of an encoder or a decoder for Base64.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/base64/coder.h"

#include <openssl/crypto.h>
#include <openssl/params.h>

#include "provider/common/errors.h"

void *base64_coder_newctx(void *provider)
{
    struct base64_coder *c = OPENSSL_zalloc(sizeof *c);
    if (c != NULL)
        c->provider = provider;
    else
        error_raise(provider, ERROR_OUT_OF_MEMORY, "an encoder or decoder of %zu bytes", sizeof *c);
    return c;
}

void base64_coder_freectx(void *context)
{
    OPENSSL_free(context);
}

int base64_coder_set_ctx_params(void *context, const OSSL_PARAM params[])
{
    struct base64_coder *c = context;
    return base64_format_set(&c->format, c->provider, params);
}

const OSSL_PARAM *base64_coder_settable_ctx_params(void *provider)
{
    static const OSSL_PARAM settable[] = {BASE64_FORMAT_SETTABLE, OSSL_PARAM_END};
    (void)provider;
    return settable;
}
