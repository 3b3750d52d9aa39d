/*
 * How many threads do a large call where no number of them is set: by its length, and by the CPUs
 * that the calling thread may use, of which this program says how many there are. What all calls
 * share, what does not count, and faults and forks on the way. On the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "test/support/library.h"

#define MIB ((size_t)1 << 20)

/* ---- The machine ---------------------------------------------------------------- */

static atomic_uint cpus;  /* 0: the kernel does not say */
static atomic_uint begun; /* threads of the library: none but these are created detached */

/* In the place of libc's. */
int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *set)
{
    unsigned count = atomic_load(&cpus);
    if (thread != 0 || count == 0) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(bytes, set);
    for (unsigned i = 0; i < count; i++)
        CPU_SET_S(2 * i + 1, bytes, set); /* not the first ones */
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *attributes, int state)
{
    int (*real)(pthread_attr_t *, int);
    void *symbol = dlsym(RTLD_NEXT, "pthread_attr_setdetachstate");
    memcpy(&real, &symbol, sizeof real);
    if (state == PTHREAD_CREATE_DETACHED)
        atomic_fetch_add(&begun, 1);
    return real(attributes, state);
}

/* Those that help; the other one has started the device. */
static unsigned helpers(void)
{
    return atomic_load(&begun) - 1;
}

static int starts_on(unsigned count, unsigned threads)
{
    struct gpuaes_settings settings = {.threads = threads};
    atomic_store(&cpus, count);
    return starts_with(&settings);
}

/* ---- Calls ------------------------------------------------------------------------ */

/* expect() draws random numbers, which all threads share. */
static pthread_mutex_t draws = PTHREAD_MUTEX_INITIALIZER;

/* How many parts the call had; 0 if it was wrong. */
static unsigned parts_of(enum gpuaes_op op, size_t len, int in_place)
{
    struct gpuaes_report report;
    struct expected e;
    unsigned char iv[16];
    pthread_mutex_lock(&draws);
    expect(&e, op, len);
    pthread_mutex_unlock(&draws);
    unsigned char *in = malloc(len);
    memcpy(in, e.plain, len);
    memcpy(iv, e.iv, sizeof iv);
    unsigned char *out = in_place ? in : malloc(len);
    enum gpuaes_status status = gpuaes_aes(op, &e.schedule, iv, in, out, len, GPUAES_WAIT, &report);
    int right = status == GPUAES_OK && memcmp(out, e.cipher, len) == 0 &&
                (op < GPUAES_CBC_DECRYPT || memcmp(iv, e.next_iv, sizeof iv) == 0);
    if (!right)
        fprintf(stderr, "# %s of %zu bytes: %s\n", op_names[op], len, gpuaes_status_text(status));
    if (!in_place)
        free(out);
    free(in);
    expected_free(&e);
    return right ? report.shards : 0;
}

struct count {
    unsigned cpus;
    size_t len;
    unsigned parts;
};

static int has_parts(const void *argument)
{
    const struct count *c = argument;
    if (!starts_on(c->cpus, 0))
        return 1;
    if (parts_of(GPUAES_CTR, c->len, 0) != c->parts)
        return 2;
    return helpers() == c->parts - 1 ? 0 : 3;
}

static void test_counts(void)
{
    static const struct count counts[] = {
        {64, 64 * MIB, 4},      {8, 16 * MIB, 4}, {7, 16 * MIB, 3},      {6, 16 * MIB, 3},
        {4, 16 * MIB, 2},       {3, 64 * MIB, 1}, {1, 16 * MIB, 1},      {0, 16 * MIB, 1},
        {64, 16 * MIB - 16, 3}, {64, 8 * MIB, 2}, {64, 8 * MIB - 16, 1},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        child_ok(has_parts, &counts[i], "%u CPUs, %zu bytes: %u threads", counts[i].cpus,
                 counts[i].len, counts[i].parts);
}

/* A number that is set counts whatever the CPUs. */
static int is_set(const void *unused)
{
    struct gpuaes_settings settings;
    (void)unused;
    if (!starts_on(64, 1) || parts_of(GPUAES_CTR, 16 * MIB, 0) != 1 || helpers() != 0)
        return 1;
    return gpuaes_get_settings(&settings) && settings.threads == 1 ? 0 : 2;
}

static int is_set_to_more(const void *unused)
{
    (void)unused;
    return starts_on(1, 4) && parts_of(GPUAES_CTR, 4 * MIB, 0) == 4 && helpers() == 3 ? 0 : 1;
}

static int is_told(const void *unused)
{
    struct gpuaes_settings settings;
    (void)unused;
    if (!starts_on(6, 0) || !gpuaes_get_settings(&settings) || settings.threads != 3)
        return 1;
    atomic_store(&cpus, 1);
    return gpuaes_get_settings(&settings) && settings.threads == 1 ? 0 : 2;
}

/* An application may take CPUs from a thread at any time, and give them back. */
static int follows_the_thread(const void *unused)
{
    (void)unused;
    if (!starts_on(1, 0) || parts_of(GPUAES_CTR, 16 * MIB, 0) != 1 || helpers() != 0)
        return 1;
    atomic_store(&cpus, 4);
    if (parts_of(GPUAES_CTR, 16 * MIB, 0) != 2 || helpers() != 1)
        return 2;
    atomic_store(&cpus, 16);
    if (parts_of(GPUAES_CTR, 16 * MIB, 0) != 4 || helpers() != 3)
        return 3;
    atomic_store(&cpus, 2);
    return parts_of(GPUAES_CTR, 16 * MIB, 0) == 1 && helpers() == 3 ? 0 : 4;
}

/* The staging memory of one thread. */
static int has_little_memory(const void *unused)
{
    struct gpuaes_settings settings = {.pinned_bytes = 9 * MIB};
    (void)unused;
    atomic_store(&cpus, 64);
    return starts_with(&settings) && parts_of(GPUAES_CTR, 16 * MIB, 0) == 1 && helpers() == 0 ? 0
                                                                                              : 1;
}

/* ---- Several callers ----------------------------------------------------------------- */

enum { CALLERS = 4 };

static void *call(void *argument)
{
    const enum gpuaes_op *op = argument;
    return parts_of(*op, 16 * MIB + 48, *op == GPUAES_CTR) == 4 ? NULL : argument;
}

static int runs_callers(void)
{
    static enum gpuaes_op ops[CALLERS] = {GPUAES_CTR, GPUAES_ECB_ENCRYPT, GPUAES_CBC_DECRYPT,
                                          GPUAES_ECB_DECRYPT};
    pthread_t callers[CALLERS];
    int wrong = 0;
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&callers[i], NULL, call, &ops[i]);
    for (int i = 0; i < CALLERS; i++) {
        void *result;
        pthread_join(callers[i], &result);
        wrong |= result != NULL;
    }
    return !wrong;
}

static int share_helpers(const void *unused)
{
    (void)unused;
    if (!starts_on(64, 0) || !runs_callers())
        return 1;
    return helpers() == 3 ? 0 : 2;
}

/* ---- Results ---------------------------------------------------------------------------- */

static int is_right(const void *argument)
{
    const enum gpuaes_op *op = argument;
    if (!starts_on(16, 0))
        return 1;
    for (int in_place = 0; in_place < 2; in_place++) {
        size_t len = 16 * MIB + tap_random_below(&random_state, MIB) / 16 * 16;
        if (parts_of(*op, len, in_place) != 4)
            return 2;
        len = MIB + tap_random_below(&random_state, 15 * MIB) / 16 * 16;
        if (parts_of(*op, len, in_place) == 0)
            return 3;
    }
    return 0;
}

static int base64_is_right(const void *unused)
{
    (void)unused;
    if (!starts_on(8, 0))
        return 1;
    size_t len = 17 * MIB / 3 * 3, characters = gpuaes_base64_encoded_size(len, 0), offset;
    unsigned char *plain = malloc(len), *text = malloc(characters + 1), *back = malloc(len);
    unsigned char *expected = malloc(characters + 1);
    tap_random_bytes(&random_state, plain, len);
    EVP_EncodeBlock(expected, plain, (int)len);
    int encoded = gpuaes_base64_encode(plain, len, text, 0, GPUAES_WAIT) == GPUAES_OK &&
                  memcmp(text, expected, characters) == 0 && helpers() == 3;
    int decoded = gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) == GPUAES_OK &&
                  memcmp(back, plain, len) == 0;
    free(plain);
    free(text);
    free(back);
    free(expected);
    return encoded && decoded ? 0 : 2;
}

/* ---- Faults and forks ------------------------------------------------------------------- */

struct fault {
    const char *options;
    enum gpuaes_op op;
    int in_place;
};

/* The caller ends up with the right output. */
static int is_finished(const void *argument)
{
    const struct fault *f = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(f->options)};
    struct gpuaes_report report;
    struct expected e;
    size_t len = 16 * MIB + 48;
    unsigned char iv[16];
    atomic_store(&cpus, 8);
    if (!starts_with(&settings))
        return 1;
    expect(&e, f->op, len);
    memcpy(iv, e.iv, sizeof iv);
    unsigned char *in = malloc(len);
    memcpy(in, e.plain, len);
    unsigned char *out = f->in_place ? in : malloc(len);
    emulator_configure(f->options);
    enum gpuaes_status status =
        gpuaes_aes(f->op, &e.schedule, iv, in, out, len, GPUAES_WAIT, &report);
    if (status != GPUAES_FAULT || report.shards != 4 || gpuaes_state() != GPUAES_FAILED)
        return 2;
    return finishes(&e, f->op, &report, in, out, len) ? 0 : 3;
}

static void test_faults(void)
{
    static const struct fault faults[] = {
        {"lost=launch_kernel:7", GPUAES_CTR, 1},
        {"lost=launch_kernel:1", GPUAES_CBC_DECRYPT, 0},
        {"fault=launch_kernel:9", GPUAES_CBC_DECRYPT, 1},
        {"lost=memcpy_htod_async:6", GPUAES_ECB_ENCRYPT, 1},
        {"fault=event_record:5", GPUAES_ECB_DECRYPT, 0},
        {"hang=6", GPUAES_CTR, 0},
        {"hang=3", GPUAES_CBC_DECRYPT, 1},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        child_ok(is_finished, &faults[i], "%s, %s, %s", faults[i].options, op_names[faults[i].op],
                 faults[i].in_place ? "in place" : "apart");
}

static atomic_int ended;

static void *go_on(void *unused)
{
    (void)unused;
    int right = runs_callers();
    atomic_store(&ended, 1);
    return right ? NULL : &ended;
}

/* Forks meet calls and helpers in any state; no child has a device, or waits for a helper. */
static int forks(const void *unused)
{
    pthread_t thread;
    void *wrong;
    int status = 0, right = 1;
    (void)unused;
    if (!starts_on(8, 0))
        return 1;
    pthread_create(&thread, NULL, go_on, NULL);
    while (right && !atomic_load(&ended)) {
        pid_t child = fork();
        if (child == 0) {
            unsigned char iv[16] = {0}, block[64] = {0};
            struct gpuaes_key key;
            gpuaes_key_expand(&key, iv, 16);
            _exit(gpuaes_aes(GPUAES_CTR, &key, iv, block, block, 64, GPUAES_WAIT, NULL) !=
                  GPUAES_NOT_READY);
        }
        right = waitpid(child, &status, 0) == child && status == 0;
        usleep(1000);
    }
    pthread_join(thread, &wrong);
    return right && wrong == NULL && helpers() == 3 ? 0 : 2;
}

int main(void)
{
    static const enum gpuaes_op ops[] = {GPUAES_ECB_ENCRYPT, GPUAES_ECB_DECRYPT, GPUAES_CBC_DECRYPT,
                                         GPUAES_CTR};
    tap_random_seed(&random_state);
    child_ok(share_helpers, NULL, "several callers share three helpers");
    child_ok(forks, NULL, "a process that forks meanwhile");
    if (THREADS_ALONE)
        return tap_done();
    test_counts();
    child_ok(is_set, NULL, "a number of one is one, whatever the CPUs");
    child_ok(is_set_to_more, NULL, "so is a number of four");
    child_ok(is_told, NULL, "how many there are is told");
    child_ok(follows_the_thread, NULL, "what the thread may use counts at each call");
    child_ok(has_little_memory, NULL, "no more threads than there is staging memory for");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        child_ok(is_right, &ops[i], "%s of random lengths is right", op_names[ops[i]]);
    child_ok(base64_is_right, NULL, "so is Base64");
    test_faults();
    return tap_done();
}
