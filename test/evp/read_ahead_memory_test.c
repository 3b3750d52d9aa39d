/*
 * The memory of read-ahead. However many streams there are at once, the limits hold
 * and every stream is right. And keystream that was made and not used is nowhere in
 * the process once its stream has ended or begun anew: all writable memory is searched
 * for it. For the emulator only.
 *
 * Each case is a run of this program of its own, since the device's state belongs to
 * the process. A child makes what is expected, so that no other keystream was ever in
 * the memory that is searched.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>

#include "test/support/cases.h"
#include "test/support/memory_search.h"
#include "test/support/read_ahead_streams.h"

enum { LENGTH = 16 * MIB, STEP = 4096, NEEDLES = LENGTH / STEP };

/* What is looked for: the keystream's first block of each STEP bytes. */
static struct search *search;
static unsigned char *expected; /* of `text`; in memory that is not searched */
static unsigned char *text;

/* ---- What is expected --------------------------------------------------------- */

static void fill_search(void)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-CTR", "provider=default");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n;
    if (!EVP_CipherInit_ex2(context, cipher, usual_key, usual_iv, 1, NULL) ||
        !EVP_CipherUpdate(context, expected, &n, text, LENGTH))
        _exit(1);
    for (unsigned i = 0; i < NEEDLES; i++) {
        unsigned char block[NEEDLE];
        for (unsigned k = 0; k < NEEDLE; k++)
            block[k] = expected[i * STEP + k] ^ text[i * STEP + k];
        search_add(search, block);
    }
    _exit(0);
}

static int expect(void)
{
    struct tap_random random = {1};
    text = malloc(LENGTH);
    search = search_new(LENGTH);
    if (text == NULL || search == NULL)
        return 0;
    expected = search->own;
    tap_random_bytes(&random, text, LENGTH);
    pid_t child = fork();
    if (child == 0)
        fill_search();
    return ended_well(child);
}

/* ---- Search ------------------------------------------------------------------- */

/* How many of them lie beyond the first `position` bytes of the stream. */
static unsigned found_from(size_t position)
{
    unsigned found = 0;
    for (size_t i = (position + STEP - 1) / STEP; i < NEEDLES; i++)
        found += search->found[i] != 0;
    return found;
}

static int is_clean(const char *when)
{
    unsigned found = search_memory(search);
    if (!found)
        return 1;
    unsigned first = 0;
    while (!search->found[first])
        first++;
    fprintf(stderr, "# %u blocks of keystream are left %s, the first that of byte %u\n", found,
            when, first * STEP);
    return 0;
}

/* ---- A stream that leaves keystream behind ------------------------------------ */

static EVP_CIPHER_CTX *open_stream(void)
{
    return context_open(1, "AES-256-CTR", usual_key, usual_iv, 1, NULL);
}

/* Goes on from *position; 1 if the bytes are right. */
static int go_on(EVP_CIPHER_CTX *context, size_t *position, size_t length)
{
    static unsigned char out[64 * KIB];
    int n;
    if (*position + length > LENGTH || length > sizeof out)
        return 0;
    int right = EVP_CipherUpdate(context, out, &n, text + *position, (int)length) &&
                !memcmp(out, expected + *position, length);
    *position += length;
    return right;
}

/* Until there is keystream ahead of it, which the search must find to be worth anything. */
static int run_ahead(EVP_CIPHER_CTX *context, size_t *position)
{
    struct ahead before = ahead_get(), now = before;
    int right = 1, lates = 0;
    while (right && now.bytes == before.bytes) {
        struct ahead last = now;
        if (*position > LENGTH / 2) { /* the device is slower than that: from the start */
            slow_down();
            *position = 0;
            right = EVP_CipherInit_ex2(context, NULL, NULL, usual_iv, -1, NULL);
        }
        right = right && go_on(context, position, PACED);
        now = ahead_get();
        if (*position >= BEGINS_AFTER)
            keep_pace(&last, &now, &lates);
    }
    for (int i = 0; i < 60000 && application_count("emulator_under_way") != 0; i++)
        sleep_ms(1);
    (void)search_memory(search);
    unsigned ahead = found_from(*position);
    if (ahead < 64)
        fprintf(stderr, "# %u blocks of keystream are found beyond %zu bytes\n", ahead, *position);
    return right && ahead >= 64;
}

/* ---- What must leave nothing: 1 if it does not -------------------------------- */

static int free_it(EVP_CIPHER_CTX *context)
{
    (void)context; /* the caller does */
    return 1;
}

static int give_another_key(EVP_CIPHER_CTX *context)
{
    static const unsigned char other_key[32] = "another key";
    return EVP_CipherInit_ex2(context, NULL, other_key, NULL, -1, NULL) && is_clean("after a key");
}

static int give_another_iv(EVP_CIPHER_CTX *context)
{
    return EVP_CipherInit_ex2(context, NULL, NULL, other_iv, -1, NULL) && is_clean("after an IV");
}

static int finish(EVP_CIPHER_CTX *context)
{
    unsigned char out[BLOCK];
    int n;
    return EVP_CipherFinal_ex(context, out, &n) && is_clean("after a final");
}

static int reset(EVP_CIPHER_CTX *context)
{
    return EVP_CIPHER_CTX_reset(context) && is_clean("after a reset");
}

static int copy_over(EVP_CIPHER_CTX *context)
{
    EVP_CIPHER_CTX *other = open_stream();
    int ok = EVP_CIPHER_CTX_copy(context, other) && is_clean("after a copy over it");
    EVP_CIPHER_CTX_free(other);
    return ok;
}

/* While segments are under way; the end of the stream waits for them. */
static int end_in_flight(EVP_CIPHER_CTX *context)
{
    static const unsigned char other_key[32] = "another key";
    size_t position = 0;
    emulate("kernel-us=30000");
    /* The same stream again, up to where its ring begins. */
    int right = EVP_CipherInit_ex2(context, NULL, usual_key, usual_iv, -1, NULL);
    while (right && position < BEGINS_AFTER + 256 * KIB)
        right = go_on(context, &position, PACED);
    right = right && EVP_CipherInit_ex2(context, NULL, other_key, NULL, -1, NULL);
    sleep_ms(100);
    emulate("");
    return right && is_clean("after an end in flight");
}

static int be_idle(EVP_CIPHER_CTX *context)
{
    (void)context;
    for (int i = 0; i < 6000 && ahead_get().pinned; i++)
        sleep_ms(10);
    return ahead_get().pinned == 0 && is_clean("after the release of an idle device");
}

/* The memory goes to another stream while this one rests. */
static int rest(EVP_CIPHER_CTX *context)
{
    static const unsigned char other_key[32] = "another key";
    unsigned char out[4096];
    int n, right = 1;
    EVP_CIPHER_CTX *other = open_stream();
    uint64_t launches = ahead_get().launches;
    (void)context;
    sleep_ms(1200);
    right = EVP_CipherInit_ex2(other, NULL, other_key, NULL, -1, NULL);
    for (int i = 0; right && i < 3 * MIB / 4096; i++)
        right = EVP_CipherUpdate(other, out, &n, text, sizeof out);
    right = right && ahead_get().launches > launches && is_clean("after it was taken away");
    EVP_CIPHER_CTX_free(other);
    return right;
}

/* ---- Very many streams -------------------------------------------------------- */

enum { CONTEXTS = 2000, EACH = 1000, SOME_BYTES = 333 };

static int limit_holds(uint64_t baseline, uint64_t limit)
{
    struct ahead now = ahead_get();
    if (now.pinned_peak <= baseline + limit)
        return 1;
    fprintf(stderr, "# %" PRIu64 " bytes were pinned, where %" PRIu64 " may be\n",
            now.pinned_peak - baseline, limit);
    return 0;
}

/* Each is run up to where it may be read ahead of, then all go on in turn. */
static int many_streams(uint64_t limit)
{
    static EVP_CIPHER_CTX *context[CONTEXTS];
    static size_t position[CONTEXTS];
    uint64_t baseline = ahead_get().pinned_peak;
    int right = 1;
    for (int i = 0; right && i < CONTEXTS; i++) {
        context[i] = open_stream();
        while (right && position[i] < BEGINS_AFTER + 64 * KIB)
            right = go_on(context[i], &position[i], 64 * KIB);
    }
    for (int round = 0; right && round < 20; round++)
        for (int i = 0; right && i < CONTEXTS; i++)
            right = go_on(context[i], &position[i], SOME_BYTES + (size_t)(i % 7));
    right = right && limit_holds(baseline, limit);
    uint64_t most = ahead_get().pinned;
    /* What these give back, others may have; the last one does. */
    for (int i = 0; i < CONTEXTS - 20; i++)
        EVP_CIPHER_CTX_free(context[i]);
    for (int i = CONTEXTS - 20; right && i < CONTEXTS; i++)
        while (right && position[i] < 3 * MIB)
            right = go_on(context[i], &position[i], 64 * KIB - (size_t)i % 16);
    for (int i = CONTEXTS - 20; i < CONTEXTS - 1; i++)
        EVP_CIPHER_CTX_free(context[i]);
    size_t begin = 0;
    right = right && EVP_CipherInit_ex2(context[CONTEXTS - 1], NULL, NULL, usual_iv, -1, NULL) &&
            run_ahead(context[CONTEXTS - 1], &begin) && limit_holds(baseline, limit);
    EVP_CIPHER_CTX_free(context[CONTEXTS - 1]);
    if (most == baseline)
        fprintf(stderr, "# none of many streams was read ahead of\n");
    return right && most > baseline && ahead_get().faults == 0;
}

/* ---- Cases -------------------------------------------------------------------- */

static const struct {
    const char *name, *settings;
    int (*run)(EVP_CIPHER_CTX *context);
    uint64_t limit; /* of very many streams */
} cases[] = {
    {"a stream is freed", "", free_it, 0},
    {"another key", "", give_another_key, 0},
    {"another IV", "", give_another_iv, 0},
    {"a final", "", finish, 0},
    {"a reset", "", reset, 0},
    {"a copy over it", "", copy_over, 0},
    {"an end with segments in flight", "", end_in_flight, 0},
    /* The search for keystream comes before, may take seconds and is no work of the device. */
    {"an idle device is released", "GPUAES_IDLE_SECONDS=20", be_idle, 0},
    {"its memory goes to another stream", "GPUAES_READ_AHEAD_BYTES=768K", rest, 0},
    {"very many streams", "GPUAES_READ_AHEAD_BYTES=64M", NULL, 64 * MIB},
    {"very many streams, less memory", "GPUAES_READ_AHEAD_BYTES=6M", NULL, 6 * MIB},
    {"very many streams, pinned-bytes", "GPUAES_PINNED_BYTES=30M", NULL, 30 * MIB},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int run_case(size_t number)
{
    size_t position = 0;
    alarm(sanitized() ? 600 : 300);
    int right = expect() && ahead_begin();
    if (right && cases[number].run == NULL) {
        right = many_streams(cases[number].limit);
    } else if (right) {
        EVP_CIPHER_CTX *context = open_stream();
        right = run_ahead(context, &position) && cases[number].run(context);
        EVP_CIPHER_CTX_free(context);
        right = right && is_clean("after it was freed");
    }
    providers_unload(&providers);
    right = right && is_clean("after the provider was unloaded");
    free(text);
    return right;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return !run_case(strtoul(argv[1], NULL, 10) % CASES);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    for (size_t i = 0; i < CASES; i++) {
        tap_ok(ended_well(case_begin(cases[i].settings, NULL, "%zu", i)), "%s: %s", cases[i].name,
               cases[i].run ? "no keystream is left" : "the limit holds, and all are right");
    }
    return tap_done();
}
