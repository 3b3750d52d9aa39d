/*
 * Read-ahead in threads that share a library context: each with streams of its
 * own; all copying one stream that rests; one stream handed from thread to thread.
 * Run under ThreadSanitizer too.
 *
 * GPUAES_TEST_THREADS (4) is their number.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/read_ahead_streams.h"

enum { MOST_THREADS = 64, COPIES = 6 };

struct worker {
    pthread_t thread;
    struct memory *memory;
    const struct stream *source; /* of copies */
    struct stream *handed_on;
    unsigned number;
    int right;
};

static unsigned threads;
static pthread_barrier_t barrier;

/* Runs them all at once; 1 if each found all right. */
static int run(void *(*body)(void *), struct worker *workers)
{
    int right = 1;
    for (unsigned i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].right = 0;
        pthread_create(&workers[i].thread, NULL, body, &workers[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        right &= workers[i].right;
    }
    return right;
}

/* ---- Streams of their own ----------------------------------------------------- */

/* The figures are those of all threads: one goes on until all have been served so much. */
static void *own_streams(void *argument)
{
    static const char *const names[] = {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR"};
    struct worker *w = argument;
    struct stream s = stream_open(w->memory, names[w->number % 3], usual_key, usual_iv);
    struct stream copy = {.side = {NULL}};
    unsigned char iv[BLOCK] = {(unsigned char)w->number};
    pthread_barrier_wait(&barrier);
    int right = stream_served(&s, 2 * SOME) && stream_copy(&copy, &s) && stream_served(&s, SOME) &&
                stream_update(&copy, 5000) && stream_init(&s, NULL, iv, -1) &&
                stream_served(&s, 2 * SOME);
    stream_close(&s);
    w->right = right && stream_update(&copy, 5000) && stream_agrees(&copy);
    stream_close(&copy);
    return NULL;
}

/* ---- Copies of one stream ----------------------------------------------------- */

static void *copies(void *argument)
{
    struct worker *w = argument;
    struct stream copy = {.side = {NULL}};
    int right = 1;
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; right && i < COPIES; i++) {
        right = stream_copy(&copy, w->source);
        copy.memory = w->memory;
        right = right && stream_agrees(&copy) && stream_update(&copy, 4000 * i + w->number) &&
                stream_agrees(&copy);
    }
    w->right = right && stream_served(&copy, SOME);
    stream_close(&copy);
    return NULL;
}

/* ---- One stream, from thread to thread ---------------------------------------- */

/* In turn: `right` of the one before is the sign. */
static void *hands_on(void *argument)
{
    struct worker *w = argument;
    struct stream *s = w->handed_on;
    s->memory = w->memory;
    w->right = stream_update(s, 333) && stream_served(s, 1);
    return NULL;
}

static int one_after_the_other(struct worker *workers)
{
    int right = 1;
    for (unsigned i = 0; right && i < threads; i++) {
        pthread_create(&workers[i].thread, NULL, hands_on, &workers[i]);
        pthread_join(workers[i].thread, NULL);
        right = workers[i].right;
    }
    return right;
}

/* ---- All of it ---------------------------------------------------------------- */

static void check(int right, uint64_t before, uint64_t least, const char *what)
{
    uint64_t served = ahead_get().bytes - before;
    tap_ok(right && (stand_in() || served >= least), "%u threads, %s: right, %llu bytes served",
           threads, what, (unsigned long long)served);
}

int main(void)
{
    static struct worker workers[MOST_THREADS];
    threads = (unsigned)setting("GPUAES_TEST_THREADS", 4);
    threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    if (!tap_ok(ahead_begin(), "the device is there"))
        return tap_done();
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++)
        workers[i].memory = memory_new(i + 1);

    uint64_t before = ahead_get().bytes;
    check(run(own_streams, workers), before, SOME, "each with streams of its own");

    static struct stream source;
    int right = stream_begin(&source, workers[0].memory, "AES-256-CTR");
    for (unsigned i = 0; i < threads; i++)
        workers[i].source = &source;
    before = ahead_get().bytes;
    right = right && run(copies, workers) && stream_agrees(&source);
    right = right && stream_served(&source, SOME) && stream_agrees(&source);
    check(right, before, SOME, "all copying one that rests");

    before = ahead_get().bytes;
    for (unsigned i = 0; i < threads; i++)
        workers[i].handed_on = &source;
    right = one_after_the_other(workers) && stream_agrees(&source);
    check(right, before, 1, "handing one on");
    stream_close(&source);

    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(ahead_get().faults == 0, "no call of the driver has failed");
    for (unsigned i = 0; i < threads; i++)
        free(workers[i].memory);
    pthread_barrier_destroy(&barrier);
    providers_unload(&test_providers);
    return tap_done();
}
