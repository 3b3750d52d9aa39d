/*
 * Read-ahead of CTR beyond the random walks of aes_differential_test: what changes the course of a
 * stream while keystream of the device is made ahead of it, and must come at a certain place or
 * show that the device did its part. Each byte, `num` and the IVs are the default provider's.
 *
 * Each case is given a stream that is being read ahead of, and asserts that keystream of
 * the device is used again where the stream goes on for long enough after the change.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/async.h>
#include <openssl/rand.h>

#include "test/support/read_ahead_streams.h"
#include "test/support/streams.h"

static struct memory *memory;
static struct tap_random chance;

static const char *const names[] = {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR"};

/* ---- Position ----------------------------------------------------------------- */

/* Many short messages under one key after a long one: none is long enough again. */
static int many_messages(struct stream *s)
{
    unsigned char iv[BLOCK] = {0};
    int right = 1;
    for (int i = 0; right && i < 300; i++) {
        iv[i % BLOCK] = (unsigned char)i;
        right = stream_init(s, i % 7 ? NULL : usual_key, iv, -1) &&
                stream_update(s, tap_random_below(&chance, 5000)) && stream_agrees(s);
    }
    return right && stream_served(s, 1);
}

/* libcrypto 3.0 takes `num`, later ones refuse it. */
static int num_is_set(struct stream *s)
{
    int right = 1;
    for (unsigned num = 0; right && num < BLOCK; num += 5) {
        OSSL_PARAM params[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num), OSSL_PARAM_END};
        right = stream_set(s, params) && stream_agrees(s) && stream_update(s, 33) &&
                stream_agrees(s) && stream_served(s, 1) && stream_agrees(s);
    }
    return right;
}

static int stream_is_stopped(struct stream *s)
{
    int right = stand_in() || stop_stream(s->side[OURS]);
    s->run = 0;
    return right && stream_agrees(s) && stream_served(s, 1) && stream_agrees(s);
}

/* Adds to a counter; what a program does that seeks. */
static void counter_add(unsigned char iv[BLOCK], int64_t blocks)
{
    for (int i = BLOCK; i-- > 0;) {
        blocks += iv[i];
        iv[i] = (unsigned char)(blocks & 0xff);
        blocks >>= 8;
    }
}

static int seeks(struct stream *s)
{
    static const int64_t to[] = {0, 1, 3, 65536, 65536 + 8 * 1024, 70000, 81920, INT64_C(1) << 40};
    int right = 1;
    for (size_t i = 0; right && i < sizeof to / sizeof to[0]; i++) {
        unsigned char iv[BLOCK];
        memcpy(iv, usual_iv, BLOCK);
        counter_add(iv, to[i]);
        right = stream_init(s, NULL, iv, -1) && stream_update(s, 50000 + i) && stream_agrees(s) &&
                (i % 3 || stream_served(s, SOME)) && stream_agrees(s);
    }
    return right;
}

/*
 * Gives the stream a counter whose last bytes wrap after `at` bytes. *served says
 * whether all that came then, or nearly, was the device's keystream.
 */
static int wraps(struct stream *s, int bytes, size_t at, int *served)
{
    unsigned char iv[BLOCK];
    memcpy(iv, usual_iv, BLOCK);
    memset(iv + BLOCK - bytes, 0xff, (size_t)bytes);
    counter_add(iv, 1 - (int64_t)(at / BLOCK));
    int right = stream_init(s, NULL, iv, -1) && stream_served(s, 1);
    struct ahead before = ahead_get();
    size_t begun = s->run;
    right = right && stream_served(s, MIB + 300 * KIB) && stream_agrees(s);
    *served = stand_in() || (begun < at && at < s->run &&
                             s->run - begun < ahead_get().bytes - before.bytes + 256 * KIB);
    return right;
}

/* At 32, 64 and 128 bits, in the middle of a segment and about where one ends. */
static int counters_that_wrap(struct stream *s)
{
    static const int bytes[] = {4, 8, 16};
    int right = 1, served = 0;
    for (size_t i = 0; right && i < sizeof bytes / sizeof bytes[0]; i++) {
        served = 0;
        for (int try = 0; right && !served && try < 6; try++) {
            right = wraps(s, bytes[i], 2 * MIB - (i % 2) * 100 * KIB, &served);
            if (!served)
                slow_down();
        }
        right = right && served;
    }
    if (!right && !served)
        fprintf(stderr, "# what wraps was never the device's\n");
    return right;
}

/* ---- Pointers to IVs ---------------------------------------------------------- */

static int go_on(struct stream *s)
{
    static const size_t lengths[] = {5000, 16, 1, 64 * KIB + 7, 8192, 3};
    int right = 1;
    for (size_t i = 0; right && i < sizeof lengths / sizeof lengths[0]; i++)
        right = stream_update(s, lengths[i]);
    return right;
}

static int writes_iv(struct stream *s)
{
    stream_write_iv(s, other_iv);
    return go_on(s);
}

static int pointers_to_ivs(struct stream *s)
{
    return stream_hold_iv(s, ORIGINAL) && stream_served(s, 1) && stream_hold_iv(s, UPDATED) &&
           go_on(s) && writes_iv(s) && stream_agrees(s) &&
           stream_init(s, NULL, (const unsigned char *)"sixteen bytes...", -1) && go_on(s) &&
           writes_iv(s) && stream_hold_iv(s, UPDATED) && stream_hold_iv(s, ORIGINAL);
}

/* A stream to whose IV there is a pointer is the CPU's. */
static int pointer_from_the_start(struct stream *s)
{
    struct stream other = stream_open(memory, "AES-128-CTR", usual_key, usual_iv);
    uint64_t before = ahead_get().bytes;
    int right = stream_hold_iv(&other, UPDATED) && stream_hurry(&other, 3 * BEGINS_AFTER, PACED) &&
                writes_iv(&other) && ahead_get().bytes == before;
    stream_close(&other);
    return right && stream_served(s, 1);
}

/* The copy has IVs of its own, to which nobody has a pointer: it is read ahead of. */
static int copy_of_a_stream_with_pointers(struct stream *s)
{
    struct stream copy = {.side = {NULL}};
    int right = stream_hold_iv(s, UPDATED) && stream_hold_iv(s, ORIGINAL) &&
                stream_update(s, 333) && stream_copy(&copy, s);
    if (right)
        stream_write_iv(s, other_iv);
    right = right && stream_agrees(&copy) && stream_served(&copy, 1) && stream_agrees(&copy) &&
            !memcmp(s->iv[UPDATED][OURS], other_iv, BLOCK) && go_on(s);
    stream_close(&copy);
    return right;
}

/* Segments grow with their stream, up to a bound. */
static int a_long_stream(struct stream *s)
{
    return stream_served_by(s, 6 * MIB, &(struct call){UPDATE, 16 * KIB, .out_of_place = 1});
}

/* ---- ASYNC jobs --------------------------------------------------------------------- */

struct job {
    struct stream *stream;
    size_t length;
};

/* With a pause after every some updates; 1 if all were right. */
static int go_on_in_job(void *argument)
{
    const struct job *job = argument;
    int right = 1;
    for (size_t done = 0; right && done < job->length; done += PACED) {
        right = stream_update(job->stream, PACED - 3) && stream_update(job->stream, 3);
        if (done % (20 * PACED) == 0)
            ASYNC_pause_job();
        sleep_ms(1);
    }
    return right;
}

/* Runs `other`, if any, while the job pauses. */
static int run_job(struct job *job, struct stream *other)
{
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    ASYNC_JOB *running = NULL;
    int right = 1, result = 0, state;
    do {
        state = ASYNC_start_job(&running, wait, &result, go_on_in_job, job, sizeof *job);
        if (state == ASYNC_PAUSE && other != NULL)
            right &= stream_update(other, 1000);
    } while (state == ASYNC_PAUSE);
    ASYNC_WAIT_CTX_free(wait);
    return right && state == ASYNC_FINISH && result == 1;
}

/* No ring begins in a job; one that began before goes on. */
static int async_jobs(struct stream *s)
{
    struct stream other = {.side = {NULL}};
    int right = stream_init(s, NULL, other_iv, -1);
    uint64_t before = ahead_get().launches;
    right = right && run_job(&(struct job){s, BEGINS_AFTER + SOME}, NULL) && stream_agrees(s);
    if (ahead_get().launches != before) {
        fprintf(stderr, "# a ring began in a job\n");
        right = 0;
    }
    right = right && stream_served(s, SOME) && stream_begin(&other, memory, "AES-128-CTR") &&
            run_job(&(struct job){s, SOME}, &other) && stream_agrees(s) && stream_agrees(&other) &&
            stream_served(s, SOME) && stream_served(&other, 1);
    stream_close(&other);
    return right;
}

/* ---- Random numbers ----------------------------------------------------------- */

/*
 * The default DRBG on our AES: right, and never read ahead of. Since 3.5 it takes its own
 * provider's, whatever it is told.
 */
static int random_numbers(struct stream *s)
{
    int is_ours = !stand_in() && OpenSSL_version_num() < 0x30500000L;
    enum { MANY = 4 * MIB, ONCE = 64 * KIB };
    unsigned char *bytes = calloc(1, MANY);
    struct ahead before = ahead_get();
    int right = RAND_set_DRBG_type(test_providers.ours, "CTR-DRBG",
                                   stand_in() ? "?provider=default" : "?provider=gpuaes",
                                   "AES-256-CTR", NULL);
    for (int i = 0; right && i < MANY / ONCE; i++)
        right = RAND_bytes_ex(test_providers.ours, bytes + i * ONCE, ONCE, 0) == 1;
    right = right && RAND_bytes_ex(test_providers.ours, bytes, MANY, 0) == 1;
    struct ahead after = ahead_get();
    free(bytes);
    if (after.bytes != before.bytes || after.gpu != before.gpu)
        fprintf(stderr, "# random numbers were read ahead of\n");
    if (is_ours && after.cpu < before.cpu + MANY)
        fprintf(stderr, "# random numbers were not made with our ciphers\n");
    return right && after.bytes == before.bytes && after.gpu == before.gpu &&
           (!is_ours || after.cpu >= before.cpu + MANY) && stream_served(s, 1);
}

static const struct {
    const char *name;
    int (*run)(struct stream *s);
} cases[] = {
    {"a long message, then many short ones", many_messages},
    {"num is set in mid-stream", num_is_set},
    {"device-memory=0 is set in mid-stream", stream_is_stopped},
    {"seeks, back and ahead", seeks},
    {"counters that wrap", counters_that_wrap},
    {"pointers to the IVs of a stream that is read ahead of", pointers_to_ivs},
    {"a pointer from the start: the stream is the CPU's", pointer_from_the_start},
    {"a copy of a stream with pointers to its IVs", copy_of_a_stream_with_pointers},
    {"a long stream", a_long_stream},
    {"ASYNC jobs", async_jobs},
    {"the default DRBG on our AES is never read ahead of", random_numbers},
};

int main(void)
{
    tap_random_seed(&chance);
    memory = memory_new(tap_random_next(&chance));
    if (!tap_ok(ahead_begin(), "the device is there"))
        return tap_done();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stream s = {.side = {NULL}};
        tap_ok(stream_begin(&s, memory, names[i % 3]) && cases[i].run(&s), "%s", cases[i].name);
        stream_close(&s);
    }
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(ahead_get().faults == 0, "no call of the driver has failed");
    providers_unload(&test_providers);
    free(memory);
    return tap_done();
}
