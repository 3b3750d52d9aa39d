/*
 * When read-ahead is, and when it ends: by the settings, when segments come late, with
 * segments in flight, when the device is released, and with the process. Each case is
 * a run of this program of its own, since the device's state belongs to the process.
 * For the emulator only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* some cases end with everything still there */
#include "test/support/read_ahead_streams.h"

enum { STATUS = 42 };

static struct memory *memory;

/* ---- Settings: 1 if all is as it should be --------------------------------------------- */

/* A stream long enough, at a pace; whether it was right. */
static int goes_on(struct stream *s, size_t length)
{
    struct ahead before = ahead_get(), now;
    int right = 1, underruns = 0;
    for (size_t done = 0; right && done < length; done += PACED) {
        right = stream_update(s, PACED);
        sleep_ms(1);
        now = ahead_get();
        keep_pace(&before, &now, &underruns);
        before = now;
    }
    return right && stream_agrees(s);
}

static int is_read_ahead_of(void)
{
    struct stream s = {.side = {NULL}};
    int right = ahead_begin() && stream_begin(&s, memory, "AES-256-CTR") && stream_served(&s, SOME);
    stream_close(&s);
    return right;
}

static int is_not_read_ahead_of(void)
{
    test_providers = providers_load();
    (void)ahead_start(300);
    struct stream s = stream_open(memory, "AES-256-CTR", usual_key, usual_iv);
    int right = stream_hurry(&s, BEGINS_AFTER, 4096) && goes_on(&s, 2 * SOME);
    stream_close(&s);
    return right && ahead_get().bytes == 0;
}

/* Not before so many bytes have been, nor by what a former IV had. */
static int not_before_its_time(void)
{
    int right = ahead_begin();
    struct stream s = stream_open(memory, "AES-128-CTR", usual_key, usual_iv);
    uint64_t launches = ahead_get().launches;
    for (int i = 0; right && i < 5; i++)
        right =
            stream_hurry(&s, BEGINS_AFTER * 3 / 4, 10000) && stream_init(&s, NULL, other_iv, -1);
    sleep_ms(20);
    right = right && ahead_get().launches == launches && ahead_get().bytes == 0;
    right = right && stream_served(&s, SOME);
    stream_close(&s);
    return right;
}

/* Three segments of the smallest size, and nothing else. */
static int a_small_cap(void)
{
    int right = ahead_begin();
    uint64_t before = ahead_get().pinned_peak;
    struct stream s = {.side = {NULL}}, t = {.side = {NULL}};
    right = right && stream_begin(&s, memory, "AES-128-CTR") && stream_served(&s, 2 * MIB);
    t = stream_open(memory, "AES-256-CTR", usual_key, usual_iv);
    right =
        right && stream_hurry(&t, BEGINS_AFTER, 4096) && goes_on(&t, SOME) && stream_served(&s, 1);
    uint64_t peak = ahead_get().pinned_peak;
    /* What one gives back another may have. */
    stream_close(&s);
    right = right && stream_init(&t, NULL, other_iv, -1) && stream_served(&t, SOME);
    stream_close(&t);
    if (peak - before > 768 * KIB)
        fprintf(stderr, "# %llu bytes were pinned\n", (unsigned long long)(peak - before));
    return right && peak - before <= 768 * KIB;
}

/* ---- Very many streams ---------------------------------------------------------------- */

enum { CONTEXTS = 2000, STREAM_BYTES = 4 * MIB };

static unsigned char *expected; /* of the same stream, which all are */

static int make_expected(void)
{
    EVP_CIPHER_CTX *reference = context_open(0, "AES-256-CTR", usual_key, usual_iv, 1, NULL);
    int n, right = (expected = calloc(2, STREAM_BYTES)) != NULL &&
                   EVP_CipherUpdate(reference, expected, &n, expected, STREAM_BYTES);
    EVP_CIPHER_CTX_free(reference);
    return right;
}

/* Goes on from *position. */
static int encrypts_zeros(EVP_CIPHER_CTX *context, size_t *position, size_t length)
{
    static const unsigned char zeros[64 * KIB];
    static unsigned char out[64 * KIB];
    int n, right = EVP_CipherUpdate(context, out, &n, zeros, (int)length) &&
                   !memcmp(out, expected + *position, length);
    *position += length;
    return right;
}

/* Each is run up to where it may be read ahead of, then all go on in turn. */
static int many_streams(uint64_t limit)
{
    static EVP_CIPHER_CTX *context[CONTEXTS];
    static size_t position[CONTEXTS];
    int right = ahead_begin() && make_expected();
    uint64_t baseline = ahead_get().pinned_peak;
    for (int i = 0; right && i < CONTEXTS; i++) {
        context[i] = context_open(1, "AES-256-CTR", usual_key, usual_iv, 1, NULL);
        while (right && position[i] < BEGINS_AFTER + 64 * KIB)
            right = encrypts_zeros(context[i], &position[i], 64 * KIB);
    }
    for (int round = 0; right && round < 20; round++)
        for (int i = 0; right && i < CONTEXTS; i++)
            right = encrypts_zeros(context[i], &position[i], 333 + (size_t)(i % 7));
    uint64_t most = ahead_get().pinned;
    /* What these give back, others may have; a new one does. */
    for (int i = 0; i < CONTEXTS - 20; i++)
        EVP_CIPHER_CTX_free(context[i]);
    for (int i = CONTEXTS - 20; right && i < CONTEXTS; i++)
        while (right && position[i] < 3 * MIB)
            right = encrypts_zeros(context[i], &position[i], 64 * KIB - (size_t)i % 16);
    for (int i = CONTEXTS - 20; i < CONTEXTS; i++)
        EVP_CIPHER_CTX_free(context[i]);
    struct stream s = {.side = {NULL}};
    right = right && stream_begin(&s, memory, "AES-256-CTR");
    stream_close(&s);
    free(expected);
    struct ahead now = ahead_get();
    fprintf(stderr, "# %llu bytes were pinned for streams, where %llu may be\n",
            (unsigned long long)(now.pinned_peak - baseline), (unsigned long long)limit);
    return right && most > baseline && now.pinned_peak <= baseline + limit && now.faults == 0;
}

static int many_streams_in_64_mib(void)
{
    return many_streams(64 * MIB);
}

static int many_streams_in_6_mib(void)
{
    return many_streams(6 * MIB);
}

static int many_streams_in_30_mib(void)
{
    return many_streams(30 * MIB);
}

/* Large updates go to the device, small ones are served, in one stream. */
static int large_ones_go_to_the_device(void)
{
    int right = ahead_begin();
    struct stream s = stream_open(memory, "AES-256-CTR", usual_key, usual_iv);
    for (int i = 0; right && i < 4; i++) {
        uint64_t before = ahead_get().gpu;
        right = stream_served(&s, 100 * KIB) && stream_agrees(&s) &&
                stream_update(&s, MIB + 1000 + (size_t)i) && stream_agrees(&s) &&
                stream_update(&s, 5) && ahead_get().gpu >= before + MIB;
    }
    right = right && stream_served(&s, SOME) && stream_agrees(&s);
    stream_close(&s);
    return right && ahead_get().faults == 0;
}

/* ---- Late segments ---------------------------------------------------------------------- */

/* In 16 MiB of a stream on a slow device; 1 if all was right. */
static int hurry_past_segments(struct stream *s, uint64_t underruns)
{
    int right = 1;
    emulate("kernel-us=20000");
    for (size_t i = 0; right && i < 16 * MIB && ahead_get().underruns == underruns; i += 16 * KIB) {
        right = stream_update(s, 16 * KIB - 3) && stream_update(s, 3);
        if (i % MIB == 0)
            sleep_ms(1);
    }
    emulate("");
    return right && stream_agrees(s);
}

static int late_segments(void)
{
    struct stream s = {.side = {NULL}};
    int right = ahead_begin() && stream_begin(&s, memory, "AES-256-CTR");
    uint64_t before = ahead_get().underruns, underruns = before;
    /* On a busy machine the stream may have been given up before its segments are late. */
    for (int i = 0; right && underruns == before && i < 10; i++) {
        right = stream_init(&s, NULL, other_iv, -1) && stream_served(&s, SOME);
        before = ahead_get().underruns;
        right = right && hurry_past_segments(&s, before);
        underruns = ahead_get().underruns;
    }
    if (underruns == before)
        fprintf(stderr, "# no segment is late\n");
    /* It catches up. */
    right = right && underruns > before && stream_served(&s, SOME) && stream_agrees(&s);
    stream_close(&s);
    return right && ahead_get().faults == 0;
}

/* As fast as the CPU goes, which is faster than this device. */
static int a_stream_in_a_hurry(void)
{
    struct stream s = {.side = {NULL}};
    int right = ahead_begin() && stream_begin(&s, memory, "AES-128-CTR") &&
                stream_hurry(&s, 24 * MIB, 16 * KIB) && stream_agrees(&s) &&
                stream_hurry(&s, MIB, 333) && stream_agrees(&s) && stream_served(&s, SOME);
    stream_close(&s);
    return right && ahead_get().faults == 0;
}

/* ---- Segments in flight -------------------------------------------------------------------- */

static int end_with_segments_in_flight(struct stream *s, int how)
{
    static const unsigned char key[32] = "yet another";
    struct stream copy = {.side = {NULL}};
    int right = 1;
    switch (how) {
    case 0:
        stream_close(s);
        *s = stream_open(memory, "AES-256-CTR", key, usual_iv);
        break;
    case 1:
        right = stream_init(s, key, other_iv, -1);
        break;
    case 2:
        right = stream_copy(&copy, s) && stream_update(&copy, 5000) && stream_agrees(&copy);
        stream_close(&copy);
        break;
    case 3:
        right = stream_final(s);
        break;
    default:
        right = EVP_CIPHER_CTX_reset(s->side[OURS]) && EVP_CIPHER_CTX_reset(s->side[REFERENCE]);
        stream_close(s);
        *s = stream_open(memory, "AES-192-CTR", key, usual_iv);
    }
    return right && stream_update(s, 5000) && stream_agrees(s);
}

static int ends_with_segments_in_flight(void)
{
    int right = ahead_begin();
    for (int how = 0; right && how < 5; how++) {
        struct stream s = {.side = {NULL}};
        right = stream_begin(&s, memory, "AES-256-CTR");
        emulate("kernel-us=30000");
        /* So that some have been ordered since. */
        right = right && stream_served(&s, 256 * KIB) && end_with_segments_in_flight(&s, how);
        emulate("");
        stream_close(&s);
    }
    return right && ahead_get().faults == 0;
}

/* ---- Release ------------------------------------------------------------------------ */

static int pinned_falls_to_nothing(void)
{
    for (int i = 0; i < 6000 && ahead_get().pinned; i++)
        sleep_ms(10);
    if (ahead_get().pinned)
        fprintf(stderr, "# %llu bytes stay pinned\n", (unsigned long long)ahead_get().pinned);
    return ahead_get().pinned == 0;
}

/* A stream that rests does not keep the device; it goes on where it was. */
static int an_idle_device_is_released(void)
{
    struct stream s = {.side = {NULL}};
    int right = ahead_begin() && stream_begin(&s, memory, "AES-256-CTR") && stream_update(&s, 5) &&
                pinned_falls_to_nothing() && stream_agrees(&s) && stream_update(&s, 5000) &&
                stream_agrees(&s) && goes_on(&s, SOME);
    uint64_t before = ahead_get().bytes;
    /*
     * On a busy machine the device is late for long, and may be released again: asking keeps it. A
     * stream that is ahead of the start has no pinned memory before it is 32 MiB long.
     */
    time_t end = time(NULL) + LIMIT_SANITIZED;
    while (right && ahead_get().bytes == before && time(NULL) < end) {
        right = ahead_start(60000) && stream_init(&s, NULL, other_iv, -1) &&
                stream_hurry(&s, 33 * MIB, 64 * KIB);
        for (; right && ahead_get().bytes == before && devices_in_use() && time(NULL) < end;
             slow_down())
            right = goes_on(&s, MIB);
    }
    stream_close(&s);
    return right && ahead_get().bytes > before && ahead_get().faults == 0;
}

/* One that is read ahead of is at work, for as long as that takes: longer than idle-seconds. */
static int a_busy_device_is_kept(void)
{
    struct stream s = {.side = {NULL}};
    int right = ahead_begin() && stream_begin(&s, memory, "AES-256-CTR");
    for (time_t end = time(NULL) + 10; right && time(NULL) < end;)
        right = stream_served(&s, 64 * KIB);
    stream_close(&s);
    return right && ahead_get().faults == 0 && pinned_falls_to_nothing();
}

/* ---- The end of the process -------------------------------------------------------- */

/* Slow segments in flight, in two streams. */
static int leave_much(void)
{
    static struct stream s, t;
    int right = ahead_begin() && stream_begin(&s, memory, "AES-256-CTR") &&
                stream_begin(&t, memory, "AES-128-CTR");
    emulate("kernel-us=30000");
    return right && stream_served(&s, 256 * KIB) && stream_update(&t, 300 * KIB);
}

static int exits(void)
{
    exit(leave_much() ? STATUS : 1);
}

static int exits_at_once(void)
{
    _exit(leave_much() ? STATUS : 1);
}

static int execs(void)
{
    if (leave_much())
        execl("/bin/sh", "sh", "-c", "exit 42", (char *)NULL);
    return 0;
}

static int unloads(void)
{
    int right = leave_much();
    providers_unload(&test_providers);
    exit(right ? STATUS : 1);
}

static const struct {
    const char *name, *settings, *emulator;
    int (*run)(void);
    int status; /* it should end with */
} cases[] = {
    {"a stream is read ahead of", "", "", is_read_ahead_of, 0},
    {"not before it has run for a MiB", "", "", not_before_its_time, 0},
    {"read-ahead-bytes=0: never",
     "GPUAES_READ_AHEAD_BYTES=0 GPUAES_MIN_BYTES=1G GPUAES_START=eager", "", is_not_read_ahead_of,
     0},
    {"read-ahead-bytes too small for a ring: never",
     "GPUAES_READ_AHEAD_BYTES=700K GPUAES_MIN_BYTES=1G GPUAES_START=eager", "",
     is_not_read_ahead_of, 0},
    {"start=never: never", "GPUAES_MIN_BYTES=1G GPUAES_START=never", "", is_not_read_ahead_of, 0},
    {"policy=cpu: never", "GPUAES_POLICY=cpu GPUAES_START=eager", "", is_not_read_ahead_of, 0},
    {"no device: never", "GPUAES_MIN_BYTES=1G GPUAES_START=eager", "devices=0",
     is_not_read_ahead_of, 0},
    {"nothing can be pinned: never", "GPUAES_MIN_BYTES=1G GPUAES_START=eager", "pinned=1",
     is_not_read_ahead_of, 0},
    {"policy=gpu: small updates are", "GPUAES_POLICY=gpu GPUAES_MIN_BYTES=auto", "",
     is_read_ahead_of, 0},
    {"read-ahead-bytes for one small ring", "GPUAES_READ_AHEAD_BYTES=768K", "", a_small_cap, 0},
    {"very many streams", "GPUAES_READ_AHEAD_BYTES=64M", "", many_streams_in_64_mib, 0},
    {"very many streams, less memory", "GPUAES_READ_AHEAD_BYTES=6M", "", many_streams_in_6_mib, 0},
    {"very many streams, pinned-bytes", "GPUAES_PINNED_BYTES=30M", "", many_streams_in_30_mib, 0},
    {"large updates go to the device", "GPUAES_MIN_BYTES=128K", "", large_ones_go_to_the_device, 0},
    {"segments come late", "", "", late_segments, 0},
    {"a stream in a hurry", "", "", a_stream_in_a_hurry, 0},
    {"streams end with segments in flight", "", "", ends_with_segments_in_flight, 0},
    /* A busy machine may leave a process without a turn for seconds. */
    {"an idle device is released", "GPUAES_IDLE_SECONDS=6", "", an_idle_device_is_released, 0},
    {"a busy device is kept", "GPUAES_IDLE_SECONDS=6", "", a_busy_device_is_kept, 0},
    {"exit() with segments in flight", "", "", exits, STATUS},
    {"_exit() with segments in flight", "", "", exits_at_once, STATUS},
    {"exec() with segments in flight", "", "", execs, STATUS},
    {"unload with segments in flight", "", "", unloads, STATUS},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    if (argc == 2) {
        alarm(sanitized() ? 600 : 400);
        memory = memory_new(1);
        int right = cases[strtoul(argv[1], NULL, 10) % CASES].run();
        providers_unload(&test_providers);
        free(memory);
        return right ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    for (size_t i = 0; i < CASES; i++)
        tap_ok(exit_status(case_begin(cases[i].settings, cases[i].emulator, "%zu", i)) ==
                   cases[i].status,
               "%s", cases[i].name);
    return tap_done();
}
