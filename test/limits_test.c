/*
 * What a process can be made to take: pinned memory and device memory stay within their
 * limits with 10,000 contexts of each kind, and whoever waits for the device sleeps. For
 * the emulator only; each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "cases.h"
#include "read_ahead_streams.h"

enum { CONTEXTS = 10000, PIECE = 9104, PINNED_LIMIT = 24 * MIB, DEVICE_LIMIT = 300 * MIB };

static EVP_CIPHER_CTX *contexts[CONTEXTS];

static int limits_hold(void)
{
    struct ahead a = ahead_get();
    size_t device = application_count("emulator_device_bytes");
    if (a.pinned_peak > PINNED_LIMIT || device > DEVICE_LIMIT)
        fprintf(stderr, "# %llu bytes pinned at most, %zu of the device\n",
                (unsigned long long)a.pinned_peak, device);
    return a.pinned_peak <= PINNED_LIMIT && device <= DEVICE_LIMIT;
}

static void free_all(void)
{
    for (int i = 0; i < CONTEXTS; i++) {
        EVP_CIPHER_CTX_free(contexts[i]);
        contexts[i] = NULL;
    }
}

static EVP_CIPHER_CTX *open_context(EVP_CIPHER *cipher, const OSSL_PARAM *params, int encrypt)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (EVP_CipherInit_ex2(context, cipher, usual_key, usual_iv, encrypt, params) &&
        EVP_CIPHER_CTX_set_padding(context, 0))
        return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

/* ---- Memory ------------------------------------------------------------------------------- */

/* Every eighth of them; half of their updates are the device's, half may be read ahead of. */
static void *use_some(void *first)
{
    static const char *const names[] = {"AES-256-CTR", "AES-128-ECB", "AES-256-CBC"};
    unsigned char *buffer = calloc(1, PIECE + 32);
    EVP_CIPHER *ciphers[3];
    int n, right = 1;
    for (int i = 0; i < 3; i++)
        ciphers[i] = fetch_ours(&providers, names[i]);
    for (size_t i = (uintptr_t)first; right && i < CONTEXTS; i += 8) {
        contexts[i] = open_context(ciphers[i % 3], NULL, i % 3 != 2);
        right = contexts[i] != NULL && EVP_CipherUpdate(contexts[i], buffer, &n, buffer, PIECE) &&
                EVP_CipherUpdate(contexts[i], buffer, &n, buffer, 4096);
    }
    for (int i = 0; i < 3; i++)
        EVP_CIPHER_free(ciphers[i]);
    free(buffer);
    return right ? &providers : NULL;
}

static int many_contexts(void)
{
    pthread_t threads[8];
    void *result;
    int right = 1;
    for (uintptr_t i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, use_some, (void *)i);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &result);
        right &= result != NULL;
    }
    right = right && limits_hold() && ahead_get().gpu != 0;
    free_all();
    return right && limits_hold() && ahead_get().faults == 0;
}

/* Contexts on a stream of the application; the last ones may be refused. */
static int open_on_stream(const char *name, int count)
{
    drv_stream stream;
    uint64_t handle;
    int opened = 0;
    EVP_CIPHER *cipher = fetch_ours(&providers, name);
    if (!application_begin(0) || application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != 0)
        return 0;
    handle = (uintptr_t)stream;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cuda-stream", &handle), OSSL_PARAM_END};
    while (opened < count && (contexts[opened] = open_context(cipher, params, 0)) != NULL)
        opened++;
    EVP_CIPHER_free(cipher);
    return opened;
}

/* What those of one kind have had, others of it get, and no more is taken. */
static int memory_is_used_again(const char *name, int count)
{
    size_t device = application_count("emulator_device_bytes");
    size_t pinned = application_count("emulator_pinned_bytes");
    free_all();
    int opened = open_on_stream(name, count);
    free_all();
    return opened == count && application_count("emulator_device_bytes") == device &&
           application_count("emulator_pinned_bytes") == pinned;
}

static int many_contexts_on_a_stream(void)
{
    int opened = open_on_stream("AES-128-CBC", CONTEXTS), n, right = opened > 4000;
    unsigned char *memory = application_alloc(DEVICE, 64);
    if (opened < CONTEXTS)
        right &= ERR_peek_error() != 0;
    for (int i = 0; right && i < opened; i += 7)
        right = EVP_CipherUpdate(contexts[i], memory, &n, memory, 64);
    right = right && limits_hold() && memory_is_used_again("AES-128-CBC", opened);
    application_free(DEVICE, memory);
    return right;
}

/* Long updates in place want more memory, each; beyond a number of them they do without. */
static int many_long_updates(void)
{
    enum { STREAMS = 100, LENGTH = 3 * MIB };
    int opened = open_on_stream("AES-128-CBC", STREAMS), n, right = opened == STREAMS;
    unsigned char *memory = application_alloc(DEVICE, LENGTH);
    for (int i = 0; right && i < opened; i++)
        right = EVP_CipherUpdate(contexts[i], memory, &n, memory, LENGTH);
    right = right && limits_hold() && memory_is_used_again("AES-128-CBC", opened);
    application_free(DEVICE, memory);
    return right;
}

static int long_updates_are_right(void)
{
    enum { STREAMS = 2, LENGTH = 3 * MIB };
    int opened = open_on_stream("AES-128-CBC", STREAMS), n, right = opened == STREAMS;
    unsigned char *memory = application_alloc(DEVICE, LENGTH), *text = malloc(LENGTH),
                  *expected = malloc(LENGTH);
    EVP_CIPHER *cipher = fetch_reference(&providers, "AES-128-CBC");
    EVP_CIPHER_CTX *reference = open_context(cipher, NULL, 0);
    memset(text, 7, LENGTH);
    right = right && EVP_CipherUpdate(reference, expected, &n, text, LENGTH);
    for (int i = 0; right && i < opened; i++) {
        right = application_write(DEVICE, memory, text, LENGTH) &&
                EVP_CipherUpdate(contexts[i], memory, &n, memory, LENGTH) &&
                EVP_CIPHER_CTX_reset(contexts[i]) &&
                application_read(text, DEVICE, memory, LENGTH) && !memcmp(text, expected, LENGTH);
        memset(text, 7, LENGTH);
    }
    right = right && limits_hold();
    free_all();
    EVP_CIPHER_CTX_free(reference);
    EVP_CIPHER_free(cipher);
    free(text);
    free(expected);
    return right;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* A tenth of the time at most, for short sleeps; a busy wait takes all of it. */
static int was_asleep(double cpu, double wall, const char *what)
{
    double most = wall / (sanitized() ? 2 : 10);
    if (cpu > most || wall < 0.2)
        fprintf(stderr, "# %s: %.3f s of CPU in %.3f s\n", what, cpu, wall);
    return cpu <= most && wall >= 0.2;
}

static int one_update(void)
{
    unsigned char buffer[PIECE];
    EVP_CIPHER *cipher = fetch_ours(&providers, "AES-256-CTR");
    EVP_CIPHER_CTX *context = open_context(cipher, NULL, 1);
    int n, right = EVP_CipherUpdate(context, buffer, &n, buffer, sizeof buffer);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return right;
}

static int a_slow_start_and_kernels(void)
{
    double wall = -clock_seconds(CLOCK_MONOTONIC), cpu = -clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    int right = one_update();
    right &= was_asleep(cpu + clock_seconds(CLOCK_THREAD_CPUTIME_ID),
                        wall + clock_seconds(CLOCK_MONOTONIC), "a start");
    wall = -clock_seconds(CLOCK_MONOTONIC);
    cpu = -clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 10; i++)
        right &= one_update();
    return right & was_asleep(cpu + clock_seconds(CLOCK_THREAD_CPUTIME_ID),
                              wall + clock_seconds(CLOCK_MONOTONIC), "kernels");
}

static void *some_updates(void *unused)
{
    (void)unused;
    int right = 1;
    for (int i = 0; i < 4; i++)
        right &= one_update();
    return right ? &providers : NULL;
}

/* More threads than there are lanes: the others sleep until one is free. */
static int threads_that_wait_for_a_lane(void)
{
    enum { THREADS = 48 };
    pthread_t threads[THREADS];
    void *result;
    int right = one_update();
    double wall = -clock_seconds(CLOCK_MONOTONIC), cpu = -clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, some_updates, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        right &= result != NULL;
    }
    /* Sixteen of them wait for the device at a time. */
    return right & was_asleep((cpu + clock_seconds(CLOCK_PROCESS_CPUTIME_ID)) / 16,
                              wall + clock_seconds(CLOCK_MONOTONIC), "lanes");
}

/* ---- Cases --------------------------------------------------------------------------------------
 */

static const struct {
    const char *name, *emulator;
    int (*run)(void);
} cases[] = {
    {"10,000 contexts: the limits hold", "", many_contexts},
    {"10,000 contexts on a stream: the limits hold", "", many_contexts_on_a_stream},
    {"100 long updates on a stream: the limits hold", "idle-kernels=1", many_long_updates},
    {"long updates on a stream are right", "", long_updates_are_right},
    {"whoever waits for a start or a kernel sleeps", "init-ms=400,kernel-us=40000",
     a_slow_start_and_kernels},
    {"whoever waits for a lane sleeps", "kernel-us=30000,idle-kernels=1",
     threads_that_wait_for_a_lane},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_run(cases[strtoul(argv[1], NULL, 10) % CASES].run, &providers, 200);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_MIN_BYTES", "9000", 1);
    setenv("GPUAES_PINNED_BYTES", "24M", 1);
    for (size_t i = 0; i < CASES; i++)
        tap_ok(ended_well(case_begin(NULL, cases[i].emulator, "%zu", i)), "%s", cases[i].name);
    return tap_done();
}
