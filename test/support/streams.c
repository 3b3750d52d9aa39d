/*
 * Contexts on a stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/streams.h"

const unsigned char key[32] = "the key of the stream", iv[BLOCK] = "\xff\xff\xff\xff";
const char undefined[] = "the GPU failed and the output buffer is undefined";

int set_stream(EVP_CIPHER_CTX *context, drv_stream stream)
{
    uint64_t handle = (uintptr_t)stream;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cuda-stream", &handle), OSSL_PARAM_END};

    return EVP_CIPHER_CTX_set_params(context, params);
}

EVP_CIPHER_CTX *new_context(int ours, const char *name, int encrypt, drv_stream stream)
{
    EVP_CIPHER_CTX *context = context_open(ours, name, key, iv, encrypt, NULL);

    if (context != NULL && EVP_CIPHER_CTX_set_padding(context, 0) &&
        (!ours || set_stream(context, stream)))
        return context;
    ERR_print_errors_fp(stderr);
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

int stop_stream(EVP_CIPHER_CTX *context)
{
    unsigned zero = 0;
    OSSL_PARAM off[] = {OSSL_PARAM_uint("device-memory", &zero), OSSL_PARAM_END};

    return EVP_CIPHER_CTX_set_params(context, off);
}
