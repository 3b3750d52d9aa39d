/*
 * Read-ahead of CTR: every way in which a stream can change its course while
 * keystream of the device is made ahead of it. Whatever it does, each byte, `num`
 * and the IVs are the default provider's.
 *
 * Each case is given a stream that is being read ahead of, and asserts that keystream of
 * the device is used again where the stream goes on for long enough after the change.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/async.h>
#include <openssl/rand.h>

#include "test/support/read_ahead_streams.h"

static struct memory *memory;
static struct tap_random chance;

static const char *const names[] = {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR"};

static const unsigned char other_key[32] = "another key, for the same stream";

/* ---- Initialisation in mid-stream --------------------------------------------------- */

static int goes_on_after_init(struct stream *s, const unsigned char *key, const unsigned char *iv,
                              int direction)
{
    return stream_served(s, 1) && stream_update(s, 4096 + 5) &&
           stream_init(s, key, iv, direction) && stream_agrees(s) && stream_update(s, 100) &&
           stream_agrees(s) && stream_served(s, SOME) && stream_agrees(s);
}

static int key_and_iv(struct stream *s)
{
    int right = 1;
    for (int i = 0; right && i < 2; i++)
        right = goes_on_after_init(s, other_key, other_iv, 1);
    return right;
}

static int key_or_iv_alone(struct stream *s)
{
    return goes_on_after_init(s, other_key, NULL, 1) && goes_on_after_init(s, NULL, other_iv, -1);
}

static int nothing_new(struct stream *s)
{
    return goes_on_after_init(s, NULL, NULL, -1);
}

static int another_direction(struct stream *s)
{
    return goes_on_after_init(s, NULL, other_iv, 0) && goes_on_after_init(s, NULL, NULL, 1);
}

/* Many short messages under one key after a long one: none is long enough again. */
static int many_messages(struct stream *s)
{
    unsigned char iv[BLOCK] = {0};
    int right = 1;
    for (int i = 0; right && i < 300; i++) {
        iv[i % BLOCK] = (unsigned char)i;
        right = stream_init(s, i % 7 ? NULL : other_key, iv, -1) &&
                stream_update(s, tap_random_below(&chance, 5000)) && stream_agrees(s);
    }
    return right && stream_served(s, 1);
}

/* ---- Position ----------------------------------------------------------------- */

static int partial_blocks(struct stream *s)
{
    static const size_t lengths[] = {1,  15, 17, 1,  1, 14, 16, 7,   9,   31,  33,
                                     47, 64, 65, 63, 5, 11, 0,  255, 257, 8191};
    int right = 1;
    for (int round = 0; right && round < 4; round++) {
        for (size_t i = 0; right && i < sizeof lengths / sizeof lengths[0]; i++)
            right = stream_update(s, lengths[i]) && stream_agrees(s);
        right = right && stream_served(s, 1) && stream_update(s, (size_t)round + 3);
    }
    /* A stream that was off its blocks when it began, and stays so. */
    right = right && stream_init(s, NULL, other_iv, -1) && stream_update(s, 7) &&
            stream_served(s, SOME) && stream_agrees(s);
    /* From one byte to the next. */
    for (int i = 0; right && i < 3000; i++)
        right = stream_update(s, 1);
    return right && stream_agrees(s) && stream_served(s, 1);
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

static int parameters_in_mid_stream(struct stream *s)
{
    unsigned padding = 0, memory_is_host = 0;
    OSSL_PARAM set[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, &padding), OSSL_PARAM_END};
    OSSL_PARAM ours[] = {OSSL_PARAM_uint("device-memory", &memory_is_host), OSSL_PARAM_END};
    int right = 1;
    for (int i = 0; right && i < 5; i++)
        right = stream_agrees(s) && stream_update(s, 1000) &&
                EVP_CIPHER_CTX_get_key_length(s->side[OURS]) ==
                    EVP_CIPHER_CTX_get_key_length(s->side[REFERENCE]) &&
                EVP_CIPHER_CTX_get_iv_length(s->side[OURS]) == BLOCK && stream_served(s, 1);
    right = right && stream_set(s, set) && stream_agrees(s) && stream_served(s, SOME) &&
            stream_agrees(s);
    right = right && (stand_in() || EVP_CIPHER_CTX_set_params(s->side[OURS], ours));
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

/* ---- Copies ------------------------------------------------------------------- */

static int copy_of_a_running_stream(struct stream *s)
{
    struct stream copy = {.side = {NULL}}, third = {.side = {NULL}};
    int right =
        stream_update(s, 21) && stream_copy(&copy, s) && stream_agrees(&copy) && stream_agrees(s);
    for (size_t i = 0; right && i < 40; i++)
        right = stream_update(s, 3000 + i) && stream_update(&copy, 700 + i * 100) &&
                stream_agrees(&copy) && stream_agrees(s);
    right = right && stream_served(s, SOME) && stream_served(&copy, SOME);
    /* Over a stream that runs, which ends there. */
    right = right && stream_copy(&third, &copy) && stream_served(&third, 1) &&
            stream_copy(&third, s) && stream_agrees(&third) && stream_update(&third, 777);
    stream_close(s);
    right = right && stream_served(&copy, 1) && stream_served(&third, SOME) &&
            stream_agrees(&copy) && stream_agrees(&third);
    stream_close(&copy);
    stream_close(&third);
    return right;
}

static int copy_outlives_the_original(struct stream *s)
{
    struct stream copy = {.side = {NULL}};
    int right = stream_copy(&copy, s) && stream_served(s, SOME);
    stream_close(s);
    right = right && stream_served(&copy, SOME);
    stream_close(&copy);
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

/* ---- Calls of other kinds ----------------------------------------------------- */

static int one_shot_calls(struct stream *s)
{
    static const struct call ssh = {ONE_SHOT, 32 * KIB, .out_of_place = 0};
    /* OpenSSH: 32 KiB and a header, in place, and nothing else. */
    int right = stream_init(s, NULL, other_iv, -1) && stream_served_by(s, 2 * SOME, &ssh) &&
                stream_agrees(s);
    for (unsigned i = 0; right && i < 30; i++)
        right = stream_call(s, &(struct call){ONE_SHOT, i * 7, .out_of_place = i % 2 != 0}) &&
                stream_update(s, i * 100) && stream_agrees(s) && stream_call(s, &ssh);
    return right && stream_served(s, 1) && stream_served_by(s, 1, &ssh) && stream_agrees(s);
}

static int final_in_mid_stream(struct stream *s)
{
    int right = stream_update(s, 99);
    for (int i = 0; right && i < 2; i++) {
        right = stream_final(s) && stream_agrees(s) && stream_hurry(s, 200000, 4096) &&
                stream_agrees(s);
    }
    return right && stream_init(s, NULL, other_iv, -1) && stream_served(s, SOME);
}

static int sizes_mixed(struct stream *s)
{
    int right = 1;
    for (int i = 0; right && i < 60; i++) {
        size_t bits = tap_random_below(&chance, 22);
        right = stream_update(s, tap_random_below(&chance, (size_t)1 << bits)) &&
                (i % 12 || stream_served(s, 1)) && stream_agrees(s);
    }
    return right && stream_update(s, LONGEST) && stream_update(s, MIB) &&
           stream_update(s, MIB + 1) && stream_update(s, MIB - 1) && stream_agrees(s) &&
           stream_served(s, SOME) && stream_agrees(s);
}

/* ---- Buffers ------------------------------------------------------------------ */

static int buffers_of_all_kinds(struct stream *s)
{
    static const int distances[] = {0, -16, -1, -100, 16, 1, 7, 64, -200, 200};
    int right = 1;
    for (unsigned i = 0; right && i < 16; i++) {
        struct call odd = {UPDATE, 5000 + i, .out_of_place = 1, i, (i * 5) % 16};
        right = (i % 4 ? stream_call(s, &odd) : stream_served_by(s, 1, &odd)) &&
                stream_call(s, &(struct call){UPDATE, 64 * i, .out_of_place = 1, (i * 3) % 16, i});
    }
    for (unsigned i = 0; right && i < sizeof distances / sizeof distances[0]; i++) {
        for (size_t length = 100; right && length < 40000; length *= 7) {
            struct call call = {UPDATE, length + i, .in_at = i, .distance = distances[i]};
            right = stream_call(s, &call) && stream_agrees(s) && stream_update(s, 500) &&
                    stream_agrees(s);
            call.way = ONE_SHOT;
            right = right && stream_call(s, &call) && stream_agrees(s);
        }
        right = right && stream_served(s, 1) && stream_agrees(s);
    }
    return right && stream_served_by(s, SOME, &(struct call){UPDATE, 12345, .out_of_place = 0});
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
    {"key and IV are set in mid-stream, and again", key_and_iv},
    {"key or IV alone is set in mid-stream", key_or_iv_alone},
    {"an initialisation with nothing in it", nothing_new},
    {"the direction is turned in mid-stream", another_direction},
    {"a long message, then many short ones", many_messages},
    {"parts of blocks in mid-stream", partial_blocks},
    {"num is set in mid-stream", num_is_set},
    {"parameters are asked for and set in mid-stream", parameters_in_mid_stream},
    {"seeks, back and ahead", seeks},
    {"counters that wrap", counters_that_wrap},
    {"a copy of a running stream: both go on", copy_of_a_running_stream},
    {"a copy and its original outlive each other", copy_outlives_the_original},
    {"pointers to the IVs of a stream that is read ahead of", pointers_to_ivs},
    {"a pointer from the start: the stream is the CPU's", pointer_from_the_start},
    {"a copy of a stream with pointers to its IVs", copy_of_a_stream_with_pointers},
    {"one-shot calls, alone and between updates", one_shot_calls},
    {"a final in mid-stream, and updates after it", final_in_mid_stream},
    {"updates of all sizes", sizes_mixed},
    {"buffers out of place, in place, off alignment and overlapping", buffers_of_all_kinds},
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
