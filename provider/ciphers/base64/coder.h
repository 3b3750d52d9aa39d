/*
 * The context of an encoder or a decoder for Base64: what both have to remember.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_CODER_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_CODER_H

#include <openssl/core_dispatch.h>

#include "provider/ciphers/base64/codec.h"

struct base64_coder {
    struct provider *provider;
    struct base64_format format;
};

/* Dispatch functions; OpenSSL has the same types for decoders. */
OSSL_FUNC_encoder_newctx_fn base64_coder_newctx;
OSSL_FUNC_encoder_freectx_fn base64_coder_freectx;
OSSL_FUNC_encoder_set_ctx_params_fn base64_coder_set_ctx_params;
OSSL_FUNC_encoder_settable_ctx_params_fn base64_coder_settable_ctx_params;

#endif
