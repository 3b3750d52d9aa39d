/*
 * What tests of cuda-stream share: contexts on a stream, and why a call was refused.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_STREAMS_H
#define GPUAES_TEST_STREAMS_H

#include "test/support/application.h"
#include "test/support/providers.h"

enum { BLOCK = 16 };

static struct providers providers;
static const unsigned char key[32] = "the key of the stream", iv[BLOCK] = "\xff\xff\xff\xff";
static const char undefined[] UNUSED = "the GPU failed and the output buffer is undefined";

UNUSED static int set_stream(EVP_CIPHER_CTX *context, drv_stream stream)
{
    uint64_t handle = (uintptr_t)stream;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cuda-stream", &handle), OSSL_PARAM_END};

    return EVP_CIPHER_CTX_set_params(context, params);
}

/* Padding is off: a padded decryption keeps a block back, and so waits. */
UNUSED static EVP_CIPHER_CTX *new_context(int ours, const char *name, int encrypt,
                                          drv_stream stream)
{
    EVP_CIPHER *cipher = ours ? fetch_ours(&providers, name) : fetch_reference(&providers, name);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = EVP_CipherInit_ex2(context, cipher, key, iv, encrypt, NULL) &&
             EVP_CIPHER_CTX_set_padding(context, 0) && (!ours || set_stream(context, stream));

    EVP_CIPHER_free(cipher);
    if (ok)
        return context;
    ERR_print_errors_fp(stderr);
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

UNUSED static int stop_stream(EVP_CIPHER_CTX *context)
{
    unsigned zero = 0;
    OSSL_PARAM off[] = {OSSL_PARAM_uint("device-memory", &zero), OSSL_PARAM_END};

    return EVP_CIPHER_CTX_set_params(context, off);
}

/*
 * Whether the call that failed just now said so: that is the newest error. Older ones may be of
 * calls that succeeded, such as the default provider's EVP_CIPHER_CTX_get_updated_iv() in 3.5.
 */
UNUSED static int reason_is(const char *text)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    int is = reason && !strcmp(reason, text);

    if (!is)
        tap_diag("the reason is \"%s\"", reason ? reason : "");
    ERR_clear_error();
    return is;
}

#endif
