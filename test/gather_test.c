/*
 * Threads whose updates share launches (batch-wait-us): each with a cipher, keys and sizes of
 * its own, and the default provider's bytes in every one.
 *
 * GPUAES_TEST_THREADS (24) threads take GPUAES_TEST_ROUNDS (40) rounds each.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "providers.h"

enum { MOST_THREADS = 64, LONGEST = 9000 };

static struct providers providers;
static size_t rounds;
static pthread_barrier_t barrier;

struct worker {
    pthread_t thread;
    struct tap_random random;
    const struct cipher_row *row;
    int encrypt, in_place, mixed;
    size_t updates, right;
    unsigned char in[LONGEST + 32], ours[LONGEST + 32], reference[LONGEST + 32];
};

static int one_update(struct worker *w, EVP_CIPHER_CTX *ours, EVP_CIPHER_CTX *reference)
{
    size_t bytes = tap_random_below(&w->random, LONGEST);
    int n = 0, m = 0;
    if (w->in_place && w->row->mode != CTR)
        bytes = bytes / 16 * 16;
    tap_random_bytes(&w->random, w->in, bytes);
    return EVP_CipherUpdate(reference, w->reference, &m, w->in, (int)bytes) &&
           EVP_CipherUpdate(ours, w->in_place ? w->in : w->ours, &n, w->in, (int)bytes) && n == m &&
           memcmp(w->in_place ? w->in : w->ours, w->reference, (size_t)n) == 0;
}

static void one_message(struct worker *w)
{
    EVP_CIPHER *ours = fetch_ours(&providers, w->row->name);
    EVP_CIPHER *reference = fetch_reference(&providers, w->row->name);
    EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new();
    unsigned char key[32], iv[16];
    tap_random_bytes(&w->random, key, sizeof key);
    tap_random_bytes(&w->random, iv, sizeof iv);
    EVP_CipherInit_ex2(a, ours, key, iv, w->encrypt, NULL);
    EVP_CipherInit_ex2(b, reference, key, iv, w->encrypt, NULL);
    EVP_CIPHER_CTX_set_padding(a, 0);
    EVP_CIPHER_CTX_set_padding(b, 0);
    for (size_t left = 1 + tap_random_below(&w->random, 3); left != 0; left--) {
        w->updates++;
        w->right += (size_t)one_update(w, a, b);
    }
    EVP_CIPHER_CTX_free(a);
    EVP_CIPHER_CTX_free(b);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < rounds; i++) {
        if (w->mixed) {
            w->row = &cipher_rows[tap_random_below(&w->random, CIPHER_ROWS)];
            w->encrypt = (int)tap_random_below(&w->random, 2);
            w->in_place = (int)tap_random_below(&w->random, 2);
        }
        one_message(w);
    }
    return NULL;
}

/* `row` NULL: any cipher. */
static void run_threads(size_t threads, const struct cipher_row *row, struct tap_random *random)
{
    static struct worker *workers[MOST_THREADS];
    size_t updates = 0, right = 0;
    struct figures before = figures_get(&providers);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (size_t i = 0; i < threads; i++) {
        workers[i] = calloc(1, sizeof *workers[i]);
        workers[i]->random.state = tap_random_next(random) | 1;
        workers[i]->row = row;
        workers[i]->encrypt = 1;
        workers[i]->mixed = row == NULL;
        pthread_create(&workers[i]->thread, NULL, work, workers[i]);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i]->thread, NULL);
        updates += workers[i]->updates;
        right += workers[i]->right;
        free(workers[i]);
    }
    pthread_barrier_destroy(&barrier);
    struct figures after = figures_get(&providers);
    const char *name = row == NULL ? "any cipher" : row->name;
    tap_ok(right == updates, "%zu threads of %s: %zu of %zu updates right", threads, name, right,
           updates);
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else /* a launch has keys of one size, and one direction */
        tap_ok(after.gpu_bytes > before.gpu_bytes && after.faults == before.faults &&
                   (row == NULL || after.launches - before.launches < updates),
               "they took %llu launches", (unsigned long long)(after.launches - before.launches));
}

int main(void)
{
    size_t threads = setting("GPUAES_TEST_THREADS", 24);
    struct tap_random random;
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    rounds = setting("GPUAES_TEST_ROUNDS", sanitized() ? 8 : 40);
    setenv("GPUAES_MIN_BYTES", "0", 0);
    setenv("GPUAES_BATCH_WAIT_US", "2000", 0);
    tap_random_seed(&random);
    providers = providers_load();
    run_threads(threads, NULL, &random);
    run_threads(threads, &cipher_rows[5], &random); /* CBC, encryption alone */
    providers_unload(&providers);
    return tap_done();
}
