/*
 * The two sides of a measurement through EVP.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/sides.h"

#include <openssl/core_names.h>
#include <stdint.h>
#include <unistd.h>

#include "bench/card.h"
#include "bench/options.h"

#define CIPHERS(mode)                                                                              \
    {                                                                                              \
        "AES-128-" mode, "AES-192-" mode, "AES-256-" mode                                          \
    }
const struct mode_row mode_rows[MODE_ROWS] = {
    [MODE_CTR] = {CIPHERS("CTR"), 1, GPUAES_CTR},
    [MODE_ECB_ENCRYPT] = {CIPHERS("ECB"), 1, GPUAES_ECB_ENCRYPT},
    [MODE_ECB_DECRYPT] = {CIPHERS("ECB"), 0, GPUAES_ECB_DECRYPT},
    [MODE_CBC_DECRYPT] = {CIPHERS("CBC"), 0, GPUAES_CBC_DECRYPT},
    [MODE_CBC_ENCRYPT] = {CIPHERS("CBC"), 1, GPUAES_CBC_ENCRYPT},
};

void warm_up(void)
{
    double deadline = now() + 30;
    if (test_providers.ours != NULL)
        return;
    test_providers = providers_load();
    /* The first context starts the device. */
    struct pair p;
    pair_open(&p, "AES-256-CTR", 1);
    while (gpuaes_state() != GPUAES_READY && gpuaes_state() != GPUAES_FAILED && !stand_in() &&
           now() < deadline)
        usleep(1000);
    usleep(options.quick ? 1000 : 100000);
    pair_close(&p);
}

const char *no_device(void)
{
    return *gpuaes_reason() != '\0' ? gpuaes_reason() : "no device was started";
}

int device_begin(const char *part)
{
    warm_up();
    if (gpuaes_state() == GPUAES_READY && card_begin(0))
        return 1;
    print_skipped(part, "%s", no_device());
    return 0;
}

const char *of_openssl(const char *what)
{
    static char text[64];
    (void)snprintf(text, sizeof text, "%s, OpenSSL %s", what,
                   OpenSSL_version(OPENSSL_VERSION_STRING));
    return text;
}

/*
 * Before 3.0.14 OpenSSL keeps the IV at an odd multiple of 4 bytes. In one context of 256 it lies
 * across two pages, where each update of CBC takes some 14 ns more and one of CTR 2, on either
 * side; and since the heap of a program is the same in each run, so it is in all of them. The
 * original IV is asked for, since asking where the current one is ends the reading ahead; that one
 * follows, behind a block of data.
 */
static int iv_may_cross_pages(EVP_CIPHER_CTX *context)
{
    enum { PAGE = 4096, IVS = 3 * GPUAES_BLOCK };
    void *original = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_octet_ptr(OSSL_CIPHER_PARAM_IV, &original, 0),
                           OSSL_PARAM_END};
    return EVP_CIPHER_CTX_get_params(context, params) && (uintptr_t)original % PAGE > PAGE - IVS;
}

static const unsigned char iv[GPUAES_BLOCK] = "and the vector.";

/* Ends the program where a call of EVP failed. */
static void must(int result)
{
    if (result)
        return;
    ERR_print_errors_fp(stderr);
    exit(EXIT_FAILURE);
}

static EVP_CIPHER_CTX *open_anywhere(const EVP_CIPHER *cipher, int encrypt)
{
    static const unsigned char key[32] = "the key of all measurements ...";
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    must(EVP_CipherInit_ex2(context, cipher, key, iv, encrypt, NULL));
    EVP_CIPHER_CTX_set_padding(context, 0);
    return context;
}

void pair_open(struct pair *p, const char *cipher, int encrypt)
{
    enum { MOST_TRIES = 16 };
    EVP_CIPHER *ciphers[SIDES] = {fetch_ours(&test_providers, cipher),
                                  fetch_reference(&test_providers, cipher)};
    for (int side = 0; side < SIDES; side++) {
        /* Each keeps its place until one is right, so that the heap does not offer it again. */
        EVP_CIPHER_CTX *tried[MOST_TRIES];
        int count = 0;
        do
            tried[count++] = open_anywhere(ciphers[side], encrypt);
        while (count < MOST_TRIES && iv_may_cross_pages(tried[count - 1]));
        p->context[side] = tried[--count];
        while (count > 0)
            EVP_CIPHER_CTX_free(tried[--count]);
        EVP_CIPHER_free(ciphers[side]);
    }
}

void pair_close(struct pair *p)
{
    EVP_CIPHER_CTX_free(p->context[OURS]);
    EVP_CIPHER_CTX_free(p->context[REFERENCE]);
}

void pair_memory(struct pair *p, unsigned char *in, unsigned char *out)
{
    for (int side = 0; side < SIDES; side++) {
        p->in[side] = in;
        p->out[side] = out;
    }
}

void pair_device_memory(struct pair *p)
{
    int yes = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_int("device-memory", &yes), OSSL_PARAM_END};
    EVP_CIPHER_CTX_set_params(p->context[OURS], params);
}

static void update(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *in,
                   size_t length)
{
    for (size_t at = 0, piece; at < length; at += piece) {
        int n;
        piece = length - at < GIB ? length - at : GIB;
        must(EVP_CipherUpdate(context, out + at, &n, in + at, (int)piece));
    }
}

void pair_updates(int side, void *argument)
{
    const struct pair *p = argument;
    for (size_t i = 0; i < p->calls; i++)
        update(p->context[side], p->out[side], p->in[side], p->length);
}

static void message(EVP_CIPHER_CTX *context, const struct pair *p, int side)
{
    unsigned char none[GPUAES_BLOCK];
    int n;
    update(context, p->out[side], p->in[side], p->length);
    must(EVP_CipherFinal_ex(context, none, &n));
}

void pair_new_ivs(int side, void *argument)
{
    const struct pair *p = argument;
    for (size_t i = 0; i < p->calls; i++) {
        must(EVP_CipherInit_ex2(p->context[side], NULL, NULL, iv, -1, NULL));
        message(p->context[side], p, side);
    }
}

void pair_new_contexts(int side, void *argument)
{
    const struct pair *p = argument;
    const EVP_CIPHER *cipher = EVP_CIPHER_CTX_get0_cipher(p->context[side]);
    const int encrypt = EVP_CIPHER_CTX_is_encrypting(p->context[side]);
    for (size_t i = 0; i < p->calls; i++) {
        EVP_CIPHER_CTX *context = open_anywhere(cipher, encrypt);
        message(context, p, side);
        EVP_CIPHER_CTX_free(context);
    }
}

uint64_t provider_figure(const char *name)
{
    uint64_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64(name, &value), OSSL_PARAM_END};
    if (test_providers.gpuaes != NULL)
        OSSL_PROVIDER_get_params(test_providers.gpuaes, params);
    return value;
}

const char *processor_since(const struct figures *before, double bytes)
{
    double gpu = (double)(figures_get(&test_providers).gpu_bytes - before->gpu_bytes);
    return gpu >= 0.9 * bytes ? "gpu" : gpu > 0 ? "mixed" : "cpu";
}

struct result measure_evp(struct row *row, size_t most, turn_fn *measured, void *argument,
                          double bytes)
{
    struct figures before = figures_get(&test_providers);
    struct result result = measure(most, measured, argument);
    row->processor = processor_since(&before, (double)(result.turns + 1) * bytes);
    return result;
}
