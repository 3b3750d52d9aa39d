/*
 * Loads a provider and says what that takes: the part `load` of the benchmark
 * runs it, since the benchmark itself has libgpuaes in memory already.
 *
 *     load_provider NAME
 *
 * prints milliseconds of the first load and of a later one with its unloading, and
 * KiB of resident memory after the first and after a small message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

static double now_ms(void)
{
    return clock_seconds(CLOCK_MONOTONIC) * 1e3;
}

static double resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file != NULL)
        (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* A message of 1 KiB, after which all is there that small work needs. */
static int encrypt(OSSL_LIB_CTX *libctx)
{
    static const unsigned char key[32], iv[16];
    unsigned char buffer[1024] = {0};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "AES-256-CTR", NULL);
    int n, right = cipher != NULL && EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) &&
                   EVP_EncryptUpdate(context, buffer, &n, buffer, sizeof buffer);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return right;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new(), *second = OSSL_LIB_CTX_new();
    double resident = resident_kib(), began = now_ms();
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, argv[1]);
    double first = now_ms() - began, grown = resident_kib() - resident;
    if (provider == NULL || !encrypt(libctx))
        return EXIT_FAILURE;
    double in_use = resident_kib() - resident;
    began = now_ms();
    OSSL_PROVIDER_unload(OSSL_PROVIDER_load(second, argv[1]));
    double again = now_ms() - began;
    printf("%.6f %.6f %.0f %.0f\n", first, again, grown, in_use);
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    OSSL_LIB_CTX_free(second);
    return 0;
}
