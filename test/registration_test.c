/*
 * Registered memory, on the emulator: gpuaes_pinned_register() and its limits;
 * pageable memory that large calls register for their own duration, and what
 * they do where they cannot: read-only memory, files, memory that is registered
 * already, other calls on the same memory, forks, faults and hangs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "library.h"

/* Just what is registered in place and apart; and two segments of registration. */
enum {
    PAGE = 4096,
    IN_PLACE = (4 << 20) + 48,
    LARGE = (8 << 20) + 48,
    SEGMENTS = (18 << 20) + 48,
    ROOM = SEGMENTS + 3 * PAGE
};

static unsigned char *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static uint64_t faults(void)
{
    struct gpuaes_statistics s;
    gpuaes_get_statistics(&s);
    return s.faults;
}

/* By one thread: several leave it alone. */
static int started(const char *options, const struct gpuaes_settings *settings)
{
    struct gpuaes_settings alone = {0};
    if (settings != NULL)
        alone = *settings;
    alone.threads = 1;
    emulator_configure(options);
    return starts_with(&alone);
}

/* ---- By the application ------------------------------------------------------------ */

static int small_call_is_right(unsigned char *p)
{
    enum { BYTES = 3 * PAGE };
    struct expected e;
    unsigned char iv[16];
    expect(&e, GPUAES_CTR, BYTES);
    memcpy(iv, e.iv, sizeof iv);
    memcpy(p, e.plain, BYTES);
    int right =
        gpuaes_aes(GPUAES_CTR, &e.schedule, iv, p, p, BYTES, GPUAES_WAIT, NULL) == GPUAES_OK &&
        memcmp(p, e.cipher, BYTES) == 0;
    expected_free(&e);
    return right;
}

static void test_application(void)
{
    unsigned char *p = pages(8 * PAGE);
    tap_ok(gpuaes_pinned_register(p + 112, 3 * PAGE) == GPUAES_OK &&
               gpuaes_memory_kind(p + 112, 3 * PAGE) == GPUAES_PINNED,
           "registered memory is pinned");
    tap_ok(small_call_is_right(p + 112) && emulator_calls("memcpy_htod_async") == 0,
           "and worked on where it is");
    tap_ok(gpuaes_pinned_register(p + 112, PAGE) == GPUAES_BAD_RANGE &&
               gpuaes_pinned_register(p + 3 * PAGE + 200, PAGE) == GPUAES_BAD_RANGE,
           "what shares a page with it cannot be registered");
    tap_ok(gpuaes_pinned_register(p + 5 * PAGE, PAGE) == GPUAES_OK, "what does not can be");
    tap_ok(gpuaes_pinned_unregister(p) == GPUAES_BAD_RANGE,
           "what was not registered cannot be unregistered");
    tap_ok(gpuaes_pinned_unregister(p + 112) == GPUAES_OK &&
               gpuaes_memory_kind(p + 112, 3 * PAGE) == GPUAES_PAGEABLE,
           "unregistered memory is pageable");
    tap_ok(gpuaes_pinned_unregister(p + 112) == GPUAES_BAD_RANGE, "it is unregistered once");
    tap_ok(gpuaes_pinned_unregister(p + 5 * PAGE) == GPUAES_OK && emulator_registered() == 0,
           "nothing stays registered");
    tap_ok(gpuaes_pinned_register(NULL, PAGE) == GPUAES_BAD_ARGUMENT &&
               gpuaes_pinned_register(p, 0) == GPUAES_BAD_ARGUMENT,
           "nothing at all is a bad argument");
    mprotect(p, PAGE, PROT_READ);
    tap_ok(gpuaes_pinned_register(p, 2 * PAGE) == GPUAES_BAD_RANGE,
           "read-only memory cannot be registered");
    tap_ok(gpuaes_state() == GPUAES_READY && faults() == 0, "which is no fault");
    munmap(p, 8 * PAGE);
}

static int no_device(const void *unused)
{
    unsigned char *p = pages(PAGE);
    (void)unused;
    return gpuaes_pinned_register(p, PAGE) == GPUAES_NOT_READY &&
                   gpuaes_pinned_unregister(p) == GPUAES_NOT_READY
               ? 0
               : 1;
}

static int little_memory(const void *unused)
{
    struct gpuaes_settings settings = {0};
    (void)unused;
    if (!started("pinned=1", &settings))
        return 1;
    unsigned char *p = pages(2 << 20);
    return gpuaes_pinned_register(p, 2 << 20) == GPUAES_NO_MEMORY && gpuaes_state() == GPUAES_READY
               ? 0
               : 2;
}

/* With idle_seconds the device is kept as long as something is registered. */
static int held(const void *unused)
{
    struct gpuaes_settings settings = {.idle_seconds = 4};
    unsigned char *p = pages(PAGE);
    (void)unused;
    if (!started("", &settings) || gpuaes_pinned_register(p, PAGE) != GPUAES_OK)
        return 1;
    sleep(6);
    if (gpuaes_state() != GPUAES_READY || gpuaes_pinned_unregister(p) != GPUAES_OK)
        return 2;
    for (int i = 0; i < 600 && gpuaes_state() != GPUAES_OFF; i++)
        usleep(100000);
    return gpuaes_state() == GPUAES_OFF ? 0 : 3;
}

/* ---- For the duration of a call ------------------------------------------------------ */

/* 1 if right, and as nothing had happened. */
static int large_call_is_right(enum gpuaes_op op, unsigned char *in, unsigned char *out, size_t len)
{
    struct expected e;
    unsigned char iv[16], *writable = in;
    expect(&e, op, len);
    memcpy(iv, e.iv, sizeof iv);
    uint64_t before = faults();
    memcpy(writable, e.plain, len);
    enum gpuaes_status status = gpuaes_aes(op, &e.schedule, iv, in, out, len, GPUAES_WAIT, NULL);
    int right = status == GPUAES_OK && memcmp(out, e.cipher, len) == 0 &&
                (op != GPUAES_CBC_DECRYPT || memcmp(iv, e.next_iv, sizeof iv) == 0);
    if (!right)
        tap_diag("%s: status %d, %s", op_names[op], status, gpuaes_reason());
    expected_free(&e);
    return right && faults() == before && gpuaes_state() == GPUAES_READY;
}

static void test_calls(void)
{
    unsigned char *in = pages(ROOM), *out = pages(ROOM);
    for (int i = 0; i < GPUAES_OPS; i++) {
        enum gpuaes_op op = (enum gpuaes_op)i;
        unsigned before = emulator_calls("mem_host_register");
        /* CTR registers no less in place, and far more apart. */
        int right = large_call_is_right(op, in + 5, in + 5, op == GPUAES_CTR ? LARGE : IN_PLACE);
        right = right && emulator_calls("mem_host_register") > before;
        before = emulator_calls("mem_host_register");
        if (op != GPUAES_CTR)
            right = right && large_call_is_right(op, in + 48, out + 4080, LARGE) &&
                    emulator_calls("mem_host_register") > before + 1;
        tap_ok(right, "%s of pageable memory registers it", op_names[op]);
    }
    tap_ok(large_call_is_right(GPUAES_ECB_ENCRYPT, in, out, LARGE), "also of whole pages");
    unsigned before = emulator_calls("mem_host_register");
    tap_ok(large_call_is_right(GPUAES_CBC_DECRYPT, in + 5, out + 2049, SEGMENTS) &&
               emulator_calls("mem_host_register") > before + 3,
           "and in more than one segment");
    tap_ok(emulator_registered() == 0, "nothing stays registered");
    tap_ok(emulator_unpinned_copies() == 0, "nothing is moved that is not registered");
    munmap(in, ROOM);
    munmap(out, ROOM);
}

/* Input and output of other sizes than each other. */
static void test_base64(void)
{
    size_t len = (17 << 20) + 2, characters = gpuaes_base64_encoded_size(len, 0), offset;
    unsigned char *plain = malloc(len), *expected = malloc(characters + 1);
    unsigned char *text = pages(2 * ROOM), *back = pages(ROOM);
    unsigned before = emulator_calls("mem_host_register");
    tap_random_bytes(&random_state, plain, len);
    EVP_EncodeBlock(expected, plain, (int)len);
    tap_ok(gpuaes_base64_encode(plain, len, text + 5, 0, GPUAES_WAIT) == GPUAES_OK &&
               memcmp(text + 5, expected, characters) == 0 && text[4] == 0 &&
               text[5 + characters] == 0 && emulator_calls("mem_host_register") > before,
           "Base64 of pageable memory registers it");
    before = emulator_calls("mem_host_register");
    tap_ok(gpuaes_base64_decode(text + 5, characters - 4, back + 3, GPUAES_WAIT, &offset) ==
                   GPUAES_OK &&
               memcmp(back + 3, plain, len / 3 * 3) == 0 && back[2] == 0 &&
               back[3 + len / 3 * 3] == 0 && emulator_calls("mem_host_register") > before,
           "and so back");
    emulator_configure("pinned=30");
    memset(text, 0, 2 * ROOM);
    tap_ok(gpuaes_base64_encode(plain, len, text + 5, 0, GPUAES_WAIT) == GPUAES_OK &&
               memcmp(text + 5, expected, characters) == 0,
           "also where only a part can be registered");
    emulator_configure("");
    tap_ok(emulator_registered() == 0 && faults() == 0, "nothing stays registered");
    munmap(text, 2 * ROOM);
    munmap(back, ROOM);
    free(plain);
    free(expected);
}

/* Staged where it cannot be registered, from the beginning or from the middle on. */
static void test_refusals(void)
{
    unsigned char *in = pages(ROOM), *out = pages(ROOM), *middle = in + (17 << 20);
    tap_ok(gpuaes_pinned_register(middle, PAGE) == GPUAES_OK &&
               large_call_is_right(GPUAES_ECB_DECRYPT, in + (10 << 20) + 7, out + 7, LARGE) &&
               large_call_is_right(GPUAES_ECB_ENCRYPT, in + 7, in + 7, SEGMENTS) &&
               emulator_registered() == 1 && gpuaes_pinned_unregister(middle) == GPUAES_OK,
           "memory of which the application has registered a part");
    emulator_configure("register=none");
    tap_ok(large_call_is_right(GPUAES_CBC_DECRYPT, in, out, LARGE) &&
               large_call_is_right(GPUAES_ECB_DECRYPT, in, in, IN_PLACE),
           "memory that cannot be registered");
    emulator_configure("pinned=18");
    tap_ok(large_call_is_right(GPUAES_ECB_DECRYPT, in, in, SEGMENTS) && emulator_registered() == 0,
           "memory of which only a part can be registered");
    emulator_configure("");
    munmap(out, ROOM);
    munmap(in, ROOM);
}

/* Input that can only be read, output that is a file. */
static void test_mappings(void)
{
    struct expected e;
    unsigned char iv[16], *in = pages(ROOM);
    FILE *file = tmpfile();
    if (file == NULL || ftruncate(fileno(file), ROOM) != 0) {
        tap_skip("no temporary file");
        return;
    }
    unsigned char *out = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    expect(&e, GPUAES_CBC_DECRYPT, LARGE);
    memcpy(in, e.plain, LARGE);
    mprotect(in, ROOM, PROT_READ);
    for (int i = 0; i < 2; i++) {
        memcpy(iv, e.iv, sizeof iv);
        memset(out, 0, LARGE);
        emulator_configure(i == 0 ? "" : "register=anonymous");
        tap_ok(gpuaes_aes(GPUAES_CBC_DECRYPT, &e.schedule, iv, in, out, LARGE, GPUAES_WAIT, NULL) ==
                       GPUAES_OK &&
                   memcmp(out, e.cipher, LARGE) == 0 && emulator_registered() == 0,
               "from read-only memory into a file%s", i == 0 ? "" : " that cannot be registered");
    }
    tap_ok(faults() == 0 && gpuaes_state() == GPUAES_READY, "which is no fault");
    emulator_configure("");
    expected_free(&e);
    munmap(in, ROOM);
    munmap(out, ROOM);
    fclose(file);
}

/* ---- Other threads -------------------------------------------------------------------- */

struct worker {
    struct expected *e;
    const unsigned char *in;
    unsigned char *out;
    enum gpuaes_op op;
    int rounds, wrong;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < w->rounds; i++) {
        unsigned char iv[16];
        memcpy(iv, w->e->iv, sizeof iv);
        enum gpuaes_status status =
            gpuaes_aes(w->op, &w->e->schedule, iv, w->in, w->out, LARGE, GPUAES_WAIT, NULL);
        w->wrong += status != GPUAES_OK || memcmp(w->out, w->e->cipher, LARGE) != 0;
    }
    return NULL;
}

static atomic_int looking, seen_pinned;

static void *look(void *p)
{
    while (atomic_load(&looking))
        if (gpuaes_memory_kind(p, LARGE) != GPUAES_PAGEABLE ||
            gpuaes_memory_kind((unsigned char *)p + (1 << 20), 16) != GPUAES_PAGEABLE)
            atomic_store(&seen_pinned, 1);
    return NULL;
}

/* Two calls read the same memory and write two halves of the same page. */
static void test_threads(void)
{
    enum { ROUNDS = THREADS_ALONE ? 1 : 2 };
    struct expected e;
    expect(&e, GPUAES_ECB_DECRYPT, LARGE);
    unsigned char *in = pages(ROOM), *out = pages(2 * ROOM);
    memcpy(in, e.plain, LARGE);
    struct worker workers[2] = {
        {.e = &e, .in = in, .out = out + 5, .op = GPUAES_ECB_DECRYPT, .rounds = ROUNDS},
        {.e = &e, .in = in, .out = out + 5 + LARGE, .op = GPUAES_ECB_DECRYPT, .rounds = ROUNDS}};
    pthread_t threads[2], looker;
    atomic_store(&looking, 1);
    pthread_create(&looker, NULL, look, in);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&looking, 0);
    pthread_join(looker, NULL);
    tap_ok(workers[0].wrong == 0 && workers[1].wrong == 0,
           "two calls on the same input, and on halves of a page of output");
    tap_ok(!atomic_load(&seen_pinned), "what a call has registered is pageable for others");
    tap_ok(emulator_registered() == 0 && emulator_unpinned_copies() == 0 && faults() == 0,
           "nothing stays registered");
    expected_free(&e);
    munmap(in, ROOM);
    munmap(out, 2 * ROOM);
}

static void test_fork(void)
{
    enum { FORKS = 12, ROUNDS = THREADS_ALONE ? 1 : 2 };
    struct expected e;
    expect(&e, GPUAES_ECB_ENCRYPT, LARGE);
    unsigned char *in = pages(ROOM), *out = pages(ROOM);
    memcpy(in, e.plain, LARGE);
    struct worker worker = {
        .e = &e, .in = in, .out = out, .op = GPUAES_ECB_ENCRYPT, .rounds = ROUNDS};
    pthread_t thread;
    int wrong = 0;
    unsigned before = emulator_calls("mem_host_register");
    pthread_create(&thread, NULL, work, &worker);
    /* The first one meets pages that are registered: during a fork none would be. */
    for (int i = 0; i < 5000 && emulator_calls("mem_host_register") == before; i++)
        usleep(1000);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(emulator_registered() == 0 && gpuaes_pinned_register(in, PAGE) == GPUAES_NOT_READY
                      ? 0
                      : 1);
        int status = -1;
        waitpid(child, &status, 0);
        wrong += status != 0;
        usleep(5000);
    }
    pthread_join(thread, NULL);
    tap_ok(wrong == 0, "no page is registered when the process forks");
    tap_ok(worker.wrong == 0 && emulator_calls("mem_host_register") > before,
           "and the calls of another thread go on");
    expected_free(&e);
    munmap(in, ROOM);
    munmap(out, ROOM);
}

/* ---- Faults ----------------------------------------------------------------------------- */

struct fault_case {
    const char *options;
    enum gpuaes_op op;
    int in_place, hangs;
};

static int run_fault(const void *argument)
{
    const struct fault_case *c = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(c->options)};
    struct gpuaes_report report;
    struct expected e;
    size_t len = c->in_place ? IN_PLACE : LARGE;
    unsigned char iv[16], *in = pages(ROOM), *out = c->in_place ? in : pages(ROOM);
    expect(&e, c->op, len);
    memcpy(iv, e.iv, sizeof iv);
    if (!started("", &settings))
        return 1;
    memcpy(in, e.plain, len);
    emulator_configure(c->options);
    enum gpuaes_status status =
        gpuaes_aes(c->op, &e.schedule, iv, in, out, len, GPUAES_WAIT, &report);
    if (c->hangs) /* the device may write there at any time: it stays registered */
        return status == GPUAES_UNDEFINED && emulator_registered() > 0 &&
                       gpuaes_state() == GPUAES_FAILED
                   ? 0
                   : 2;
    if (status == GPUAES_UNDEFINED)
        return c->in_place ? 0 : 3;
    return finishes(&e, c->op, &report, in, out, len) ? 0 : 4;
}

static void test_faults(void)
{
    static const struct fault_case cases[] = {
        {"lost=mem_host_register:2", GPUAES_ECB_ENCRYPT, 0, 0},
        {"lost=mem_host_unregister:1", GPUAES_ECB_ENCRYPT, 0, 0},
        {"fault=mem_host_unregister:1", GPUAES_ECB_DECRYPT, 0, 0},
        {"lost=memcpy_dtoh_async:3", GPUAES_ECB_DECRYPT, 0, 0},
        {"lost=memcpy_dtoh_async:4", GPUAES_CBC_DECRYPT, 1, 0},
        {"fault=memcpy_htod_async:2", GPUAES_CBC_DECRYPT, 0, 0},
        {"fault=launch_kernel:5", GPUAES_ECB_ENCRYPT, 1, 0},
        {"hang=2", GPUAES_ECB_ENCRYPT, 0, 1},
        {"hang=3", GPUAES_CBC_DECRYPT, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        child_ok(run_fault, &cases[i], "%s while memory is registered", cases[i].options);
}

static void test_alone(void)
{
    /* First: children must come from a process without a device. */
    child_ok(no_device, NULL, "without a device nothing can be registered");
    child_ok(little_memory, NULL, "nor where memory cannot be locked");
    child_ok(held, NULL, "the device is kept while memory is registered");
    test_faults();
    tap_ok(started("", NULL), "the device starts");
    test_application();
    test_calls();
    test_base64();
    test_refusals();
    test_mappings();
}

int main(void)
{
    tap_random_seed(&random_state);
    if (THREADS_ALONE)
        tap_ok(started("", NULL), "the device starts");
    else
        test_alone();
    test_threads();
    test_fork();
    return tap_done();
}
