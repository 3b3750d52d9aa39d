/*
 * A program that frees its last object of a provider after OPENSSL_cleanup(), as programs do whose
 * objects are static: late_frees OBJECT WAY CIPHER. late_frees.t builds it with several versions of
 * OpenSSL, and runs it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

static const char *way = "";
static OSSL_LIB_CTX *library;
static OSSL_PROVIDER *providers[2];
static EVP_CIPHER *cipher;
static EVP_CIPHER_CTX *context;
static SSL_CTX *tls;
static SSL *connection;

/* Frees what there is: all of these take NULL. */
static void free_objects()
{
    SSL_free(connection);
    SSL_CTX_free(tls);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    for (OSSL_PROVIDER *provider : providers)
        if (provider != nullptr)
            OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(library);
    fputs("freed\n", stderr);
}

static int is_way(const char *name)
{
    return strcmp(way, name) == 0;
}

/* It is made before main() begins, so its destructor runs after libcrypto's exit handler. */
static struct object {
    ~object()
    {
        if (is_way("static"))
            free_objects();
    }
} object;

__attribute__((destructor)) static void destruct()
{
    if (is_way("destructor"))
        free_objects();
}

static int encrypt(const char *name)
{
    static unsigned char text[200000];
    const unsigned char key[64] = {1}, iv[16] = {2};
    int n;
    cipher = EVP_CIPHER_fetch(library, name, library != nullptr ? "provider=gpuaes" : nullptr);
    context = EVP_CIPHER_CTX_new();
    return cipher != nullptr && EVP_EncryptInit_ex2(context, cipher, key, iv, nullptr) &&
           EVP_EncryptUpdate(context, text, &n, text, sizeof text) &&
           strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), "gpuaes") == 0;
}

static void free_cipher()
{
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    context = nullptr;
    cipher = nullptr;
}

static int make(const char *what, const char *name)
{
    if (strcmp(what, "library") == 0) {
        library = OSSL_LIB_CTX_new();
        providers[0] = OSSL_PROVIDER_load(library, "default");
        providers[1] = OSSL_PROVIDER_load(library, "gpuaes");
    }
    if (strcmp(what, "tls") == 0) {
        tls = SSL_CTX_new(TLS_method());
        connection = SSL_new(tls);
        if (connection == nullptr)
            return 0;
    }
    if (!encrypt(name))
        return 0;
    if (strcmp(what, "tls") == 0)
        free_cipher();
    if (strcmp(what, "cipher") == 0) {
        EVP_CIPHER_CTX_free(context);
        context = nullptr;
    }
    return 1;
}

int main(int argc, char **argv)
{
    /* Before libcrypto's handler, and so it runs after that. */
    if (argc != 4 || (strcmp(argv[2], "handler") == 0 && atexit(free_objects) != 0))
        return 2;
    if (!make(argv[1], argv[3])) {
        ERR_print_errors_fp(stderr);
        return 1;
    }
    way = argv[2];
    if (is_way("explicit")) {
        OPENSSL_cleanup();
        free_objects();
    }
    return 0;
}
