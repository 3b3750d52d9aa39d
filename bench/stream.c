/*
 * A program that streams, as many do: AES-256-CTR in small updates of one context a
 * thread, by whatever providers OPENSSL_CONF names. bench/programs runs it, in turns
 * with itself on the default provider alone, and takes the time of the whole process.
 *
 *     stream [OPTION...] BYTES PIECE
 *     stream --load NAME
 *
 * BYTES, in updates of PIECE, are each thread's; K, M or G after a number multiplies it.
 *
 *     --threads=N  so many threads (1)
 *     --slices     also how fast it was over time: a line for each tenth of a second, with
 *                  GB/s; one thread only
 *     --on-order   not at once: each line of the standard input begins the streaming,
 *                  without an end, or ends it; the end of the input ends the program
 *
 * prints "first" and "last", each with CLOCK_MONOTONIC in seconds: when the streaming began
 * and when it had ended, so that its caller knows what loading and the exit took.
 *
 * --load NAME loads that provider instead, and prints milliseconds of the first load and of a later
 * one with its unloading, and KiB of resident memory after the first and after a message of 1 KiB.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <getopt.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { MOST_THREADS = 1024, MOST_SLICES = 1024, LOOKS = 64 };

static const double slice_seconds = 0.1;
static size_t total, piece;
static int sliced, on_order;
static double slices[MOST_SLICES]; /* bytes in each, of the first thread */

static double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "stream: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(EXIT_FAILURE);
}

static size_t number(const char *text)
{
    char *end = NULL;
    size_t n = strtoul(text, &end, 10);
    switch (*end) {
    case 'G':
        return n << 30;
    case 'M':
        return n << 20;
    case 'K':
        return n << 10;
    default:
        return n;
    }
}

static EVP_CIPHER_CTX *stream_open(OSSL_LIB_CTX *libctx)
{
    static const unsigned char key[32] = "the key of a program's stream...",
                               iv[16] = "and the vector.";
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "AES-256-CTR", NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!EVP_EncryptInit_ex2(context, cipher, key, iv, NULL))
        fail("no AES-256-CTR");
    EVP_CIPHER_free(cipher);
    return context;
}

static void stream_update(EVP_CIPHER_CTX *context, unsigned char *buffer)
{
    int n;
    if (!EVP_EncryptUpdate(context, buffer, &n, buffer, (int)piece))
        fail("an update failed");
}

static void stream_in_slices(EVP_CIPHER_CTX *context, unsigned char *buffer)
{
    double first = now();
    for (size_t done = 0; done < total; done += piece) {
        stream_update(context, buffer);
        size_t slice = (size_t)((now() - first) / slice_seconds);
        slices[slice < MOST_SLICES ? slice : MOST_SLICES - 1] += (double)piece;
    }
}

static int is_ordered(int wait_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, wait_ms) > 0;
}

/* Whether there was a line; else the input has ended. */
static int take_order(void)
{
    char c = 0;
    while (read(STDIN_FILENO, &c, 1) == 1)
        if (c == '\n')
            return 1;
    return 0;
}

static void stream_on_order(EVP_CIPHER_CTX *context, unsigned char *buffer)
{
    while (take_order()) {
        while (!is_ordered(0))
            for (int i = 0; i < LOOKS; i++)
                stream_update(context, buffer);
        if (!take_order())
            break;
    }
}

static void *stream_run(void *unused)
{
    EVP_CIPHER_CTX *context = stream_open(NULL);
    unsigned char *buffer = aligned_alloc(4096, (piece + 4095) / 4096 * 4096);
    if (buffer == NULL)
        fail("no memory");
    memset(buffer, 3, piece);
    if (on_order)
        stream_on_order(context, buffer);
    else if (sliced)
        stream_in_slices(context, buffer);
    else
        for (size_t done = 0; done < total; done += piece)
            stream_update(context, buffer);
    EVP_CIPHER_CTX_free(context);
    free(buffer);
    return unused;
}

static void print_slices(void)
{
    /* The last one is not full. */
    for (int i = 0; i + 1 < MOST_SLICES && slices[i + 1] > 0; i++)
        printf("slice %.1f %.4f\n", i * slice_seconds, slices[i] / slice_seconds / 1e9);
}

/* ---- Loading a provider ------------------------------------------------------------ */

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

static int load(const char *name)
{
    static unsigned char message[1024];
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new(), *second = OSSL_LIB_CTX_new();
    double resident = resident_kib(), began = now();
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, name);
    double first = now() - began, grown = resident_kib() - resident;
    if (provider == NULL)
        fail("no such provider");
    /* After a message all is there that small work needs. */
    EVP_CIPHER_CTX *context = stream_open(libctx);
    piece = sizeof message;
    stream_update(context, message);
    EVP_CIPHER_CTX_free(context);
    double in_use = resident_kib() - resident;
    began = now();
    OSSL_PROVIDER_unload(OSSL_PROVIDER_load(second, name));
    double again = now() - began;
    printf("%.6f %.6f %.0f %.0f\n", first * 1e3, again * 1e3, grown, in_use);
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    OSSL_LIB_CTX_free(second);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"threads", required_argument, NULL, 't'},
                                          {"slices", no_argument, NULL, 's'},
                                          {"on-order", no_argument, NULL, 'o'},
                                          {"load", required_argument, NULL, 'l'},
                                          {NULL, 0, NULL, 0}};
    static pthread_t threads[MOST_THREADS];
    size_t count = 1;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'l')
            return load(optarg);
        if (c == 't')
            count = number(optarg);
        sliced |= c == 's';
        on_order |= c == 'o';
        if (c == '?')
            return 2;
    }
    if (argc - optind != 2 || count < 1 || count > MOST_THREADS || (sliced && count > 1))
        return 2;
    total = number(argv[optind]);
    piece = number(argv[optind + 1]);
    if (piece == 0 || piece > 1 << 30)
        return 2;
    printf("first %.6f\n", now());
    for (size_t i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, stream_run, NULL) != 0)
            fail("no thread");
    stream_run(NULL);
    for (size_t i = 1; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    printf("last %.6f\n", now());
    print_slices();
    return 0;
}
