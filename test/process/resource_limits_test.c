/*
 * What a process can be made to take: pinned memory and device memory stay within their
 * limits with 10,000 contexts of each kind, and waits for the device sleep. For the emulator
 * only; each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "test/support/cases.h"
#include "test/support/read_ahead_streams.h"

enum { CONTEXTS = 10000, PIECE = 9104, PINNED_LIMIT = 24 * MIB, DEVICE_LIMIT = 300 * MIB };

static EVP_CIPHER_CTX *contexts[CONTEXTS];

/* Of those that work: more than all limits let in. */
static size_t working_contexts(void)
{
    return sanitized() ? CONTEXTS * 2 / 5 : CONTEXTS;
}

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
        ciphers[i] = fetch_ours(&test_providers, names[i]);
    for (size_t i = (uintptr_t)first; right && i < working_contexts(); i += 8) {
        contexts[i] = open_context(ciphers[i % 3], NULL, i % 3 != 2);
        right = contexts[i] != NULL && EVP_CipherUpdate(contexts[i], buffer, &n, buffer, PIECE) &&
                EVP_CipherUpdate(contexts[i], buffer, &n, buffer, 4096);
    }
    for (int i = 0; i < 3; i++)
        EVP_CIPHER_free(ciphers[i]);
    free(buffer);
    return right ? &test_providers : NULL;
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
    EVP_CIPHER *cipher = fetch_ours(&test_providers, name);
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
    EVP_CIPHER *cipher = fetch_reference(&test_providers, "AES-128-CBC");
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

/* A thread of this process as Linux shows it: 'S' while it sleeps, 'R' if it runs or could. */
struct look {
    char state;
    unsigned long gave_way, was_stopped; /* voluntary and other context switches */
};

static struct look look_at(pid_t thread)
{
    struct look look = {0};
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    FILE *status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        (void)(sscanf(line, "State: %c", &look.state) ||
               sscanf(line, "voluntary_ctxt_switches: %lu", &look.gave_way) ||
               sscanf(line, "nonvoluntary_ctxt_switches: %lu", &look.was_stopped));
    if (status != NULL)
        fclose(status);
    return look;
}

/* Sleeps that show that a thread polls, looks that show that one is blocked, and their times. */
enum { SLEEPS = 20, LOOKS = 10, BETWEEN_LOOKS_MS = 20, LOOKS_MOST_MS = 60000 };
enum {
    WAITING_THREADS = 48,
    DEVICE_STREAM_SETS = 16 /* STREAM_SETS of cuda/device/stream_set.h */
};
#define LONG_KERNELS "kernel-us=100000000,idle-kernels=1"

static _Atomic pid_t updating[WAITING_THREADS]; /* 0: there is none */
static atomic_int ended;

/*
 * 1 once so many of the updating threads are blocked: they slept all the time, from look to look. A
 * thread that waits busily runs, or is about to; one that polls has run.
 */
static int are_blocked(unsigned count)
{
    struct look last[WAITING_THREADS] = {{0}};
    unsigned looks[WAITING_THREADS] = {0}, blocked = 0;
    for (int i = 0; i < LOOKS_MOST_MS && blocked != count; i += BETWEEN_LOOKS_MS) {
        blocked = 0;
        for (unsigned k = 0; k < WAITING_THREADS && updating[k] != 0; k++) {
            struct look now = look_at(updating[k]);
            int slept = now.state == 'S' && now.gave_way == last[k].gave_way &&
                        now.was_stopped == last[k].was_stopped;
            looks[k] = slept ? looks[k] + 1 : 0;
            blocked += looks[k] >= LOOKS;
            last[k] = now;
        }
        if (blocked != count)
            sleep_ms(BETWEEN_LOOKS_MS);
    }
    if (blocked != count)
        fprintf(stderr, "# %u threads are blocked, expected %u\n", blocked, count);
    return blocked == count;
}

/* 1 once the thread has slept several times. */
static int sleeps_between_looks(pid_t thread)
{
    unsigned long first = look_at(thread).gave_way;
    return COMES(look_at(thread).gave_way >= first + SLEEPS);
}

static int one_update(void)
{
    unsigned char buffer[PIECE];
    EVP_CIPHER *cipher = fetch_ours(&test_providers, "AES-256-CTR");
    EVP_CIPHER_CTX *context = open_context(cipher, NULL, 1);
    int n, right = EVP_CipherUpdate(context, buffer, &n, buffer, sizeof buffer);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return right;
}

static void *update_in_thread(void *number)
{
    updating[(uintptr_t)number] = (pid_t)syscall(SYS_gettid);
    (void)one_update();
    ended++;
    return NULL;
}

static void begin_updates(unsigned threads)
{
    pthread_t thread;
    for (uintptr_t i = 0; i < threads; i++)
        pthread_create(&thread, NULL, update_in_thread, (void *)i);
    for (unsigned i = 0; i < threads; i++)
        while (updating[i] == 0)
            sleep_ms(1);
}

/* As many kernels as that are at work, and no update has ended. */
static int have_launched(unsigned kernels)
{
    return COMES(application_count_of("emulator_launches", NULL) >= kernels) &&
           application_count_of("emulator_launches", NULL) == kernels && ended == 0;
}

/* The device takes longer than the test. So this process ends by itself, with updates under way. */
static int end_now(int right)
{
    fflush(NULL);
    _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int a_start(void)
{
    begin_updates(1);
    return end_now(are_blocked(1) && ended == 0);
}

static int a_kernel(void)
{
    int right = one_update();
    emulate(LONG_KERNELS);
    begin_updates(1);
    return end_now(right && have_launched(1) && sleeps_between_looks(updating[0]) && ended == 0);
}

/* More threads than there are stream sets: the others sleep until one is free. */
static int a_stream_set(void)
{
    int right = one_update();
    emulate(LONG_KERNELS);
    begin_updates(WAITING_THREADS);
    return end_now(right && have_launched(DEVICE_STREAM_SETS) &&
                   are_blocked(WAITING_THREADS - DEVICE_STREAM_SETS) && ended == 0);
}

/* ---- Cases -------------------------------------------------------------------------- */

static const struct case_row cases[] = {
    {"10,000 contexts: the limits hold", NULL, "", many_contexts},
    {"10,000 contexts on a stream: the limits hold", NULL, "", many_contexts_on_a_stream},
    {"100 long updates on a stream: the limits hold", NULL, "idle-kernels=1", many_long_updates},
    {"long updates on a stream are right", NULL, "", long_updates_are_right},
    {"a wait for a start sleeps", NULL, "init-ms=100000", a_start},
    {"a wait for a kernel sleeps", NULL, "", a_kernel},
    {"a wait for a stream set sleeps", NULL, "", a_stream_set},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_MIN_BYTES", "9000", 1);
    setenv("GPUAES_PINNED_BYTES", "24M", 1);
    set_timeout_for("");
    cases_check(cases, CASES, 1);
    return tap_done();
}
