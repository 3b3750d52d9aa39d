/*
 * What the fuzz targets have in common: taking an input apart, the provider in library
 * contexts with settings of their own, and the end of a run that found something.
 *
 * A target is linked with the provider and the emulator, and libFuzzer calls it; see
 * test/fuzz/fuzz.t. Every byte of an input means something: what runs out reads as 0.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_FUZZ_H
#define GPUAES_FUZZ_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

int LLVMFuzzerInitialize(int *arguments, char ***argument);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
OSSL_provider_init_fn OSSL_provider_init;

/* ---- Input -------------------------------------------------------------------- */

struct input {
    const uint8_t *data;
    size_t left;
};

UNUSED static unsigned take_byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->data++;
}

/* 0 .. limit - 1, from one byte. */
UNUSED static unsigned take_below(struct input *in, unsigned limit)
{
    return take_byte(in) % limit;
}

UNUSED static void take_bytes(struct input *in, unsigned char *to, size_t length)
{
    for (size_t i = 0; i < length; i++)
        to[i] = (unsigned char)take_byte(in);
}

UNUSED static uint64_t take_number(struct input *in, unsigned bytes)
{
    uint64_t n = 0;
    while (bytes-- != 0)
        n = n << 8 | take_byte(in);
    return n;
}

/* ---- Findings ------------------------------------------------------------------- */

/* Ends the process, for which libFuzzer keeps the input. */
UNUSED __attribute__((noreturn, format(printf, 1, 2))) static void found(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("FOUND: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

/* ---- Providers -------------------------------------------------------------------- */

/* A library context with our provider and the default one; the settings are of the environment. */
UNUSED static OSSL_LIB_CTX *load_ours(void)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    if (libctx == NULL || !OSSL_PROVIDER_add_builtin(libctx, "gpuaes", OSSL_provider_init) ||
        OSSL_PROVIDER_load(libctx, "gpuaes") == NULL ||
        OSSL_PROVIDER_load(libctx, "default") == NULL)
        found("the providers do not load");
    return libctx;
}

/* The least work that makes a device start, and waits for it. */
UNUSED static void start_device(OSSL_LIB_CTX *libctx)
{
    static const unsigned char nothing[32];
    unsigned char out[64];
    int written;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "AES-256-ECB", "provider=gpuaes");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!EVP_EncryptInit_ex2(context, cipher, nothing, NULL, NULL) ||
        !EVP_EncryptUpdate(context, out, &written, nothing, sizeof nothing))
        found("the device does not start");
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
}

#endif
