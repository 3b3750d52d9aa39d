/*
 * Threads that share a library context and nothing else: each has contexts of
 * its own, of random ciphers, keys and sizes, and finds the default provider's
 * bytes in every one, and the tags of messages of GCM, large and small. Run
 * under ThreadSanitizer too.
 *
 * GPUAES_TEST_THREADS (8) threads take GPUAES_TEST_ROUNDS (60; 20 under a sanitizer) rounds
 * each.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/sealed.h"

enum { MOST_THREADS = 64, LARGEST = 300000 };

static size_t rounds;
static pthread_barrier_t barrier;

struct worker {
    pthread_t thread;
    struct tap_random random;
    size_t good, bytes;
    char wrong[128]; /* the first that was */
    unsigned char in[LARGEST], ours[LARGEST + 32], reference[LARGEST + 32];
};

/* One message in some updates, through a copy of the context from the middle on. */
static int one_message(struct worker *w, EVP_CIPHER_CTX *ours, EVP_CIPHER_CTX *reference,
                       int in_place)
{
    size_t updates = 1 + tap_random_below(&w->random, 6), length;
    int n, m;

    while (updates--) {
        length = tap_random_below(&w->random, (size_t)1 << (4 + tap_random_below(&w->random, 15)));
        tap_random_bytes(&w->random, w->in, length < 64 ? length : 64);
        if (in_place)
            memcpy(w->ours, w->in, length);
        if (EVP_CipherUpdate(ours, w->ours, &n, in_place ? w->ours : w->in, (int)length) !=
                EVP_CipherUpdate(reference, w->reference, &m, w->in, (int)length) ||
            n != m || memcmp(w->ours, w->reference, (size_t)n))
            return 0;
        w->bytes += length;
    }
    return EVP_CipherFinal_ex(ours, w->ours, &n) ==
               EVP_CipherFinal_ex(reference, w->reference, &m) &&
           n == m && !memcmp(w->ours, w->reference, (size_t)n);
}

static int one_round(struct worker *w)
{
    const struct cipher_row *row = &cipher_rows[tap_random_below(&w->random, CIPHER_ROWS)];
    EVP_CIPHER *ours = fetch_ours(&test_providers, row->name);
    EVP_CIPHER *reference = fetch_reference(&test_providers, row->name);
    EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new(),
                   *copy = EVP_CIPHER_CTX_new();
    unsigned char key[32], iv[16];
    /* In place only with the one cipher that holds nothing back. */
    int encrypt = (int)tap_random_below(&w->random, 2), in_place = row->mode == CTR && encrypt,
        good;

    tap_random_bytes(&w->random, key, sizeof key);
    tap_random_bytes(&w->random, iv, sizeof iv);
    good = EVP_CipherInit_ex2(a, ours, key, iv, encrypt, NULL) &&
           EVP_CipherInit_ex2(b, reference, key, iv, encrypt, NULL) &&
           EVP_CIPHER_CTX_set_padding(a, encrypt) && EVP_CIPHER_CTX_set_padding(b, encrypt) &&
           EVP_CIPHER_CTX_copy(copy, a) && one_message(w, copy, b, in_place) &&
           EVP_CipherInit_ex2(a, NULL, NULL, iv, encrypt, NULL) &&
           EVP_CipherInit_ex2(b, NULL, NULL, iv, encrypt, NULL) && one_message(w, a, b, in_place);
    if (!good && !*w->wrong)
        snprintf(w->wrong, sizeof w->wrong, "%s %s", row->name, encrypt ? "encrypt" : "decrypt");
    EVP_CIPHER_CTX_free(a);
    EVP_CIPHER_CTX_free(b);
    EVP_CIPHER_CTX_free(copy);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
    return good;
}

/* Two messages by one context. */
static int one_sealed(struct worker *w)
{
    static const char *const names[] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};
    size_t bytes =
        1 + tap_random_below(&w->random, (size_t)1 << (4 + tap_random_below(&w->random, 15)));
    uint64_t seed = tap_random_next(&w->random);
    struct sealed s = sealed_make(names[seed % 3], (int)(seed >> 8 & 1), bytes, seed);
    EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
    int good = context != NULL;
    for (int i = 0; i < 2 && good; i++)
        good = (i == 0 || sealed_begin(&s, context)) &&
               sealed_agrees(&s, context, w->ours, 1 + tap_random_below(&w->random, 4), i);
    if (!good && !*w->wrong)
        snprintf(w->wrong, sizeof w->wrong, "%s of %zu bytes", s.cipher, bytes);
    EVP_CIPHER_CTX_free(context);
    sealed_free(&s);
    w->bytes += 2 * bytes;
    return good;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    size_t i;

    pthread_barrier_wait(&barrier); /* so that all come to the start of the device at once */
    for (i = 0; i < rounds; i++)
        w->good += (size_t)(i % 4 == 3 ? one_sealed(w) : one_round(w));
    return NULL;
}

int main(void)
{
    size_t threads = setting("GPUAES_TEST_THREADS", 8), i;
    struct worker *workers[MOST_THREADS];
    struct tap_random random;
    struct figures figures;

    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    rounds = setting("GPUAES_TEST_ROUNDS", sanitized() ? 20 : 60);
    setenv("GPUAES_MIN_BYTES", "0", 0);
    tap_random_seed(&random);
    test_providers = providers_load();
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (i = 0; i < threads; i++) {
        workers[i] = calloc(1, sizeof *workers[i]);
        workers[i]->random.state = tap_random_next(&random) | 1;
        pthread_create(&workers[i]->thread, NULL, work, workers[i]);
    }
    for (i = 0; i < threads; i++) {
        pthread_join(workers[i]->thread, NULL);
        if (!tap_ok(workers[i]->good == rounds, "thread %zu: %zu of %zu rounds right, %zu bytes", i,
                    workers[i]->good, rounds, workers[i]->bytes))
            tap_diag("the first wrong: %s", workers[i]->wrong);
        free(workers[i]);
    }
    figures = figures_get(&test_providers);
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(figures.gpu_bytes > 0 && figures.faults == 0, "through kernels, without a fault");
    pthread_barrier_destroy(&barrier);
    providers_unload(&test_providers);
    return tap_done();
}
