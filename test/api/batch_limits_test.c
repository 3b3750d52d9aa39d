/*
 * Limits of batches, and what they leave to others: stream sets, keys, pinned memory, the time
 * of a launch; and memory whose kind changes between messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/batch/batch.h"
#include "test/support/mixes.h"

enum { MIB = 1 << 20 };

/* ---- Stream sets ------------------------------------------------------------------------- */

enum { MOST = 8, MORE = 2 };
static struct mix mixes[MOST + MORE];

/* As many as can be are under way, and polled by nobody; some more are not. */
static int fill_stream_sets(struct gpuaes_batch *batch[MOST + MORE])
{
    struct mix_rules rules = {.in_kind = 1, 1, 0, 3, 40, GPUAES_CTR, 1, 0};
    int right = 1;
    for (int i = 0; i < MOST + MORE; i++) {
        batch[i] = open_batch();
        right = right && mix_make(&mixes[i], &rules);
        mix_fill(&mixes[i]);
        right = right && mix_add(batch[i], &mixes[i]) &&
                (i >= MOST || gpuaes_batch_submit(batch[i], 0) == GPUAES_OK);
    }
    return right;
}

/* A call of another kind, of which the stream sets must not be short. */
static enum gpuaes_status other_call(const char *faults)
{
    const struct work work = {GPUAES_CTR, 4096, GPUAES_PAGEABLE, 0, faults};
    struct gpuaes_report report;
    return (enum gpuaes_status)work_status(&work, &report);
}

static int stream_sets(void)
{
    static const struct gpuaes_settings settings = {.timeout_ms = 10000};
    struct gpuaes_batch *batch[MOST + MORE];
    return starts_with(&settings) && fill_stream_sets(batch) &&
           gpuaes_batch_submit(batch[MOST], 0) == GPUAES_BUSY &&
           gpuaes_batch_submit(batch[MOST], GPUAES_WAIT) == GPUAES_BUSY && /* in the end */
           other_call(NULL) == GPUAES_OK && gpuaes_batch_wait(batch[3]) == GPUAES_OK &&
           batch_is_done(batch[MOST]) && mix_is_right(&mixes[MOST]);
}

static void *wait_for_stream_set(void *batch)
{
    static enum gpuaes_status status;
    status = gpuaes_batch_submit(batch, GPUAES_WAIT);
    return &status;
}

/* A thread that waits for a stream set learns that the device is lost. */
static int woken(void)
{
    struct gpuaes_batch *batch[MOST + MORE];
    pthread_t thread;
    void *status;
    if (!starts_with(NULL) || !fill_stream_sets(batch))
        return 0;
    pthread_create(&thread, NULL, wait_for_stream_set, batch[MOST]);
    sleep_ms(300); /* it waits by then, most of the times */
    int right = other_call("fault=launch_kernel:1") == GPUAES_FAULT;
    pthread_join(thread, &status);
    right = right && *(enum gpuaes_status *)status == GPUAES_FAULT;
    for (size_t i = 0; right && i < mixes[MOST].count; i++)
        right =
            mixes[MOST].message[i].len == 0 || gpuaes_batch_status(batch[MOST], i) == GPUAES_FAULT;
    /* So does one that comes later; and those under way are done. */
    right = right && gpuaes_batch_submit(batch[MOST + 1], GPUAES_WAIT) == GPUAES_FAULT;
    for (int i = 0; right && i < MOST; i++)
        right = gpuaes_batch_wait(batch[i]) == GPUAES_OK;
    return right;
}

/* ---- Pinned memory ------------------------------------------------------------------- */

/* Whatever batches do, the rest of the cap is enough for keystream and for other calls. */
static int pinned(void)
{
    enum { CAP = 256 * MIB, KEYSTREAM = 64 * MIB, CALLS = 8 * 9 * MIB, BYTES = 16 * MIB };
    enum { LONG = GPUAES_BATCH_PAGEABLE_BYTES, SHORT = 64, SHORTS = 4 * 16384 };
    struct gpuaes_batch *batch[MOST];
    struct gpuaes_statistics statistics = {.struct_bytes = sizeof statistics};
    unsigned char key[16] = {0}, iv[16] = {0}, *p = calloc(1, BYTES);
    emulator_configure("idle-kernels=1");
    int right = starts_with(NULL);
    for (unsigned i = 0; right && i < MOST; i++) {
        size_t len = i % 2 == 0 ? LONG : SHORT;
        unsigned count = i % 2 == 0 ? BYTES / LONG : SHORTS;
        struct gpuaes_message m = {.op = GPUAES_CTR, key, 16, NULL, iv, p, p, BYTES};
        batch[i] = open_batch();
        right = gpuaes_batch_add(batch[i], &m) == GPUAES_BAD_ARGUMENT;
        m.len = len;
        for (unsigned n = 0; right && n < count; n++) {
            m.in = m.out = p + n * len;
            memcpy(key, &n, sizeof n);
            right = gpuaes_batch_add(batch[i], &m) == GPUAES_OK;
        }
        right = right && gpuaes_batch_submit(batch[i], 0) == GPUAES_OK;
    }
    for (unsigned i = 0; right && i < MOST; i++)
        (void)gpuaes_batch_wait(batch[i]); /* kernels that do nothing write no statuses */
    right = right && gpuaes_state() == GPUAES_READY;
    free(p);
    gpuaes_get_statistics(&statistics);
    tap_diag("pinned memory of %d batches: %.1f MiB", MOST, (double)statistics.pinned_peak / MIB);
    return right && statistics.pinned_peak + KEYSTREAM + CALLS <= CAP;
}

/* Where memory is too short for all slots, a batch goes through those that there are. */
static int goes_through_fewer_slots(size_t cap, const char *options)
{
    enum { COUNT = 8, LONG = GPUAES_BATCH_PAGEABLE_BYTES, BYTES = COUNT * LONG };
    struct gpuaes_settings settings = {.pinned_bytes = cap, .read_ahead_bytes = 1};
    struct gpuaes_batch *batch = open_batch();
    struct gpuaes_statistics statistics = {.struct_bytes = sizeof statistics};
    struct expected e;
    if (!starts_with(cap != 0 ? &settings : NULL))
        return 0;
    expect(&e, GPUAES_ECB_ENCRYPT, BYTES);
    struct gpuaes_message all = message_of(&e, GPUAES_ECB_ENCRYPT, e.plain, e.plain, LONG);
    emulator_configure(options);
    int right = batch_adds(batch, all, COUNT) && gpuaes_batch_submit(batch, 0) == GPUAES_OK &&
                batch->slices == COUNT && batch->slots != 0 && batch->slots != STREAM_SET_SLOTS &&
                gpuaes_batch_wait(batch) == GPUAES_OK && memcmp(e.plain, e.cipher, BYTES) == 0;
    gpuaes_get_statistics(&statistics);
    return right && (cap == 0 || statistics.pinned_peak <= cap);
}

static int little_pinned_memory(void)
{
    return goes_through_fewer_slots(8 * MIB, "");
}

static int little_device_memory(void)
{
    return goes_through_fewer_slots(0, "memory=6");
}

/* Nor is there memory for a copy of pinned text, which kernels reach then. */
static int no_memory_for_copies(void)
{
    enum { COUNT = 8, LONG = MIB, BYTES = COUNT * LONG };
    struct gpuaes_batch *batch = open_batch();
    struct expected e;
    if (!starts_with(NULL))
        return 0;
    expect(&e, GPUAES_ECB_ENCRYPT, BYTES);
    unsigned char *p = take(GPUAES_PINNED, BYTES);
    memcpy(p, e.plain, BYTES);
    struct gpuaes_message all = message_of(&e, GPUAES_ECB_ENCRYPT, p, p, LONG);
    emulator_configure("memory=6");
    unsigned copies = emulator_calls("memcpy_dtoh_async");
    return batch_adds(batch, all, COUNT) && gpuaes_batch_submit(batch, 0) == GPUAES_OK &&
           gpuaes_batch_wait(batch) == GPUAES_OK && memcmp(p, e.cipher, BYTES) == 0 &&
           emulator_calls("memcpy_dtoh_async") == copies;
}

/* ---- Messages, keys, layouts ------------------------------------------------------------ */

static void test_counts(void)
{
    enum { COUNT = GPUAES_BATCH_MESSAGES, KEYS = 1 << 16 };
    struct gpuaes_batch *batch = open_batch();
    unsigned char key[32] = {0}, iv[16] = {0}, *p = gpuaes_pinned_alloc(16);
    struct gpuaes_message m = {.op = GPUAES_CTR, key, 32, NULL, iv, p, p, 0};
    int right = 1;
    for (size_t i = 0; i < COUNT; i++)
        right &= gpuaes_batch_add(batch, &m) == GPUAES_OK;
    tap_ok(right && gpuaes_batch_add(batch, &m) == GPUAES_NO_MEMORY,
           "there is a limit to the number of messages");
    gpuaes_batch_reset(batch);
    m.len = 16;
    for (size_t i = 0; i < COUNT; i++)
        right &= gpuaes_batch_add(batch, &m) == GPUAES_OK;
    tap_ok(right && gpuaes_batch_add(batch, &m) == GPUAES_NO_MEMORY,
           "also of messages that are all alike");
    gpuaes_batch_reset(batch);
    for (unsigned i = 0; i <= KEYS; i++) {
        memcpy(key, &i, sizeof i);
        right &= gpuaes_batch_add(batch, &m) == GPUAES_OK;
    }
    tap_ok(right, "but not to that of keys");
    gpuaes_batch_close(batch);
    gpuaes_pinned_free(p, 16);
}

/* In the child of a fork too, where the message is like the one before. */
static void test_fork(void)
{
    struct gpuaes_batch *batch = open_batch();
    unsigned char key[16] = {0}, iv[16] = {0}, *p = gpuaes_pinned_alloc(16);
    struct gpuaes_message m = {.op = GPUAES_CTR, key, 16, NULL, iv, p, p, 16};
    int status = -1, right = gpuaes_batch_add(batch, &m) == GPUAES_OK;
    pid_t child = fork();
    if (child == 0)
        _exit(gpuaes_batch_add(batch, &m) == GPUAES_NOT_READY ? 0 : 1);
    waitpid(child, &status, 0);
    tap_ok(right && status == 0, "a forked child adds no message");
    gpuaes_batch_close(batch);
    gpuaes_pinned_free(p, 16);
}

/* The length of a key counts only where there is a key, and not a schedule in its place. */
static void test_key_bytes(void)
{
    struct gpuaes_batch *batch = open_batch();
    static const unsigned char bytes[32], short_key[16] = {1};
    unsigned char iv[16] = {0}, *p = gpuaes_pinned_alloc(32), expected[16] = {0};
    struct gpuaes_key schedule, short_schedule;
    gpuaes_key_expand(&schedule, bytes, 32);
    gpuaes_key_expand(&short_schedule, short_key, 16);
    memset(p, 0, 32);
    reference(GPUAES_CTR, short_key, 16, iv, expected, expected, 16);
    memset(iv, 0, sizeof iv);
    struct gpuaes_message m = {.op = GPUAES_CTR, .iv = iv, .in = p, .out = p, .len = 16};
    m.key_bytes = 16; /* which nobody reads, beside a schedule of 32 */
    m.schedule = &schedule;
    int right = gpuaes_batch_add(batch, &m) == GPUAES_OK;
    m.key = short_key;
    m.in = m.out = p + 16;
    right = right && gpuaes_batch_add(batch, &m) == GPUAES_OK && batch_is_done(batch) &&
            memcmp(p + 16, expected, 16) == 0;
    gpuaes_batch_reset(batch);
    m.key = NULL;
    m.key_bytes = 0;
    right = right && gpuaes_batch_add(batch, &m) == GPUAES_OK;
    m.key = short_key;
    tap_ok(right && gpuaes_batch_add(batch, &m) == GPUAES_BAD_ARGUMENT,
           "a key behind a schedule has the length that its message says");
    gpuaes_batch_close(batch);
    gpuaes_pinned_free(p, 32);
}

/* Of messages with IVs of so many lengths; those of a batch that was reset do not count. */
static void test_groups(void)
{
    static unsigned char iv[2 * GPUAES_BATCH_GROUPS], key[16], tag[16];
    struct gpuaes_batch *batch = open_batch();
    struct gpuaes_message m = {.op = GPUAES_GCM_ENCRYPT,
                               .key = key,
                               .key_bytes = 16,
                               .iv = iv,
                               .tag = tag,
                               .tag_bytes = 16};
    for (size_t round = 0; round < 2; round++) {
        int right = 1;
        for (size_t i = 1; i <= GPUAES_BATCH_GROUPS; i++) {
            m.iv_bytes = round * (GPUAES_BATCH_GROUPS - 10) + i;
            right &= gpuaes_batch_add(batch, &m) == GPUAES_OK;
        }
        right &= gpuaes_batch_add(batch, &m) == GPUAES_OK;
        m.iv_bytes++;
        tap_ok(right && gpuaes_batch_add(batch, &m) == GPUAES_NO_MEMORY,
               "there is a limit to the groups of a batch, round %zu", round);
        gpuaes_batch_reset(batch);
    }
    gpuaes_batch_close(batch);
}

static void test_both_ways(void)
{
    enum { COUNT = 1000, KEYS = 2 };
    static unsigned char data[COUNT][16], want[COUNT][16];
    struct gpuaes_batch *batch = open_batch();
    unsigned char keys[KEYS][16], iv[16] = {0};
    int right = 1;
    tap_random_bytes(&random_state, data, sizeof data);
    tap_random_bytes(&random_state, keys, sizeof keys);
    for (int i = 0; i < COUNT; i++) {
        enum gpuaes_op op = i & 1 ? GPUAES_ECB_DECRYPT : GPUAES_ECB_ENCRYPT;
        const unsigned char *key = keys[i / 2 % KEYS];
        struct gpuaes_message m = {.op = op, key, 16, NULL, NULL, data[i], data[i], 16};
        reference(op, key, 16, iv, data[i], want[i], 16);
        right &= gpuaes_batch_add(batch, &m) == GPUAES_OK;
    }
    tap_ok(right && batch_is_done(batch) && memcmp(data, want, sizeof data) == 0,
           "keys that are used both ways in turn");
    gpuaes_batch_close(batch);
}

static unsigned char *pages(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- Kinds of memory ----------------------------------------------------------------------- */

/* One array, of which the second half alone is pinned. */
static void test_half_pinned(void)
{
    enum { HALF = 2 * MIB, PAGE = 4096, FLAGS = DRV_HOST_REGISTER_PORTABLE };
    struct gpuaes_batch *batch = open_batch();
    struct expected e;
    unsigned char *p = pages(2 * HALF);
    expect(&e, GPUAES_ECB_ENCRYPT, 2 * HALF);
    memcpy(p, e.plain, 2 * HALF);
    struct gpuaes_message all =
        message_of(&e, GPUAES_ECB_ENCRYPT, p + HALF - PAGE, p + HALF - PAGE, PAGE);
    int right = application.mem_host_register(p + HALF, HALF, FLAGS | DRV_HOST_REGISTER_MAPPED) ==
                    DRV_SUCCESS &&
                batch_adds(batch, all, HALF / PAGE + 1) && batch_is_done(batch);
    tap_ok(right && memcmp(p + HALF - PAGE, e.cipher + HALF - PAGE, HALF + PAGE) == 0,
           "an array whose second half is pinned");
    gpuaes_batch_close(batch);
    application.mem_host_unregister(p + HALF);
    munmap(p, 2 * HALF);
    expected_free(&e);
}

/* Two registrations side by side. */
static void test_neighbours(void)
{
    enum { HALF = 2 * MIB, BYTES = 2 * HALF };
    struct gpuaes_batch *batch = open_batch();
    struct expected e;
    unsigned char *p = pages(BYTES);
    unsigned char *other = gpuaes_pinned_alloc(BYTES);
    expect(&e, GPUAES_ECB_ENCRYPT, BYTES);
    int registered = gpuaes_pinned_register(p, HALF) == GPUAES_OK &&
                     gpuaes_pinned_register(p + HALF, HALF) == GPUAES_OK;
    tap_ok(registered, "two halves of an array are registered");
    for (int in_place = 0; in_place < 2; in_place++) {
        struct gpuaes_message all =
            message_of(&e, GPUAES_ECB_ENCRYPT, in_place ? p : other, p, HALF / 2);
        memcpy(in_place ? p : other, e.plain, BYTES);
        int right =
            batch_adds(batch, all, 4) && batch_is_done(batch) && memcmp(p, e.cipher, BYTES) == 0;
        tap_ok(right, "and both are right, %s", in_place ? "in place" : "as output alone");
        gpuaes_batch_reset(batch);
    }
    gpuaes_batch_close(batch);
    gpuaes_pinned_unregister(p);
    gpuaes_pinned_unregister(p + HALF);
    gpuaes_pinned_free(other, BYTES);
    munmap(p, BYTES);
    expected_free(&e);
}

/* What was refused may be unregistered at once. */
static void test_unregistered(void)
{
    enum { BYTES = 1 * MIB, FLAGS = DRV_HOST_REGISTER_PORTABLE | DRV_HOST_REGISTER_MAPPED };
    struct gpuaes_batch *batch = open_batch();
    struct expected e;
    unsigned char *device = take(GPUAES_DEVICE, 4096);
    unsigned char *p = pages(BYTES);
    expect(&e, GPUAES_ECB_ENCRYPT, 4096);
    struct gpuaes_message m = message_of(&e, GPUAES_ECB_ENCRYPT, p, device, 8192);
    int right = application.mem_host_register(p, BYTES, FLAGS) == DRV_SUCCESS &&
                gpuaes_batch_add(batch, &m) == GPUAES_BAD_RANGE &&
                application.mem_host_unregister(p) == DRV_SUCCESS;
    m.out = p;
    m.len = 4096;
    memcpy(p, e.plain, 4096);
    right = right && gpuaes_batch_add(batch, &m) == GPUAES_OK && batch->group[0].kind.in_staged;
    tap_ok(right && batch_is_done(batch) && memcmp(p, e.cipher, 4096) == 0,
           "the memory of a message that was refused is looked at again");
    gpuaes_batch_close(batch);
    give(GPUAES_DEVICE, device, 4096);
    munmap(p, BYTES);
    expected_free(&e);
}

/* ---- Long messages ------------------------------------------------------------------ */

/*
 * One takes longer than the device may without progress, polled first and then waited for; the
 * others of its launch are done long before. Two thirds of the time-out pass at each step, as the
 * batch sees it: a machine under load takes longer for a step than it should.
 */
static int long_messages(void)
{
    enum {
        TIMEOUT_MS = 900000,
        STEP = 256 * 1024,
        STEPS = 24,
        LONG = STEPS * STEP,
        SHORT = STEP + 48,
        COUNT = 3
    };
    static const size_t lengths[COUNT] = {SHORT, LONG, 48};
    static const struct gpuaes_settings settings = {.timeout_ms = TIMEOUT_MS};
    struct gpuaes_batch *batch = open_batch();
    struct expected e[COUNT];
    unsigned char *p[COUNT];
    become_an_application(0);
    int right = starts_with(&settings);
    for (int i = 0; right && i < COUNT; i++) {
        expect(&e[i], GPUAES_CBC_ENCRYPT, lengths[i]);
        p[i] = take(i == 0 ? GPUAES_PAGEABLE : GPUAES_DEVICE, lengths[i]);
        struct gpuaes_message m = message_of(&e[i], GPUAES_CBC_ENCRYPT, p[i], p[i], lengths[i]);
        right = gpuaes_copy(p[i], e[i].plain, lengths[i]) == GPUAES_OK &&
                gpuaes_batch_add(batch, &m) == GPUAES_OK;
    }
    emulator_configure("kernel-us=20000");
    right = right && gpuaes_batch_submit(batch, 0) == GPUAES_OK;
    for (unsigned seen = 0, now; right && (now = emulator_launches(NULL)) < STEPS / 2; seen = now) {
        if (now != seen)
            batch->progress_ns -= TIMEOUT_MS / 3 * 2 * INT64_C(1000000);
        right = gpuaes_batch_poll(batch) == GPUAES_BUSY;
        usleep(1000);
    }
    right = right && gpuaes_batch_wait(batch) == GPUAES_OK && emulator_launches(NULL) >= STEPS;
    for (int i = 0; right && i < COUNT; i++)
        right = holds(p[i], e[i].cipher, lengths[i]);
    return right;
}

static const struct child_case cases[] = {
    {"batches that are not polled leave stream sets to others", stream_sets},
    {"a wait for a stream set ends when the device is lost", woken},
    {"batches leave pinned memory to others", pinned},
    {"a batch under a low cap on pinned memory", little_pinned_memory},
    {"a batch where the device has little memory", little_device_memory},
    {"a batch of pinned memory that there is no room to copy", no_memory_for_copies},
    {"a message that takes longer than the time-out", long_messages},
};

int main(void)
{
    tap_random_seed(&random_state);
    children_ok(cases, sizeof cases / sizeof cases[0]);
    become_an_application(0);
    tap_ok(starts_with(NULL), "the device starts");
    test_counts();
    test_key_bytes();
    test_fork();
    test_groups();
    test_both_ways();
    test_half_pinned();
    test_unregistered();
    test_neighbours();
    return tap_done();
}
