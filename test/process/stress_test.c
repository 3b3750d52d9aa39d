/*
 * 64 threads for a while: contexts of their own and copies of shared ones, all ciphers, messages
 * of GCM and Base64, sizes from a block to what is cut up between devices and threads, figures
 * being read. On the emulator memory runs short now and then meanwhile, and two of three devices
 * are lost. All results are right, and no thread stands still: a watch ends the program otherwise.
 * Run under ThreadSanitizer too.
 *
 * GPUAES_TEST_SECONDS (10), GPUAES_TEST_THREADS (64).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/application.h"
#include "test/support/read_ahead_streams.h"
#include "test/support/sealed.h"

enum { MOST_THREADS = 64, LARGEST = 256 * KIB, HUGE = 2 * MIB + 4096, SHARED = 9 };

/* No progress of any thread for so long is a deadlock, also on a busy machine under a sanitizer. */
enum { STANDSTILL_SECONDS = 300 };

struct worker {
    pthread_t thread;
    struct tap_random random;
    size_t rounds, wrong;
    unsigned char *in, *ours, *reference;
};

static EVP_CIPHER_CTX *shared[SIDES][SHARED]; /* contexts that all copy from */
static EVP_CIPHER *ciphers[SIDES][SHARED];
static EVP_CIPHER *base64;
static pthread_mutex_t sharing[SHARED];
static atomic_size_t progress;
static atomic_int stop;
static time_t ends_at, began_at;

/* ---- Rounds ----------------------------------------------------------------------------- */

static size_t some_length(struct worker *w)
{
    if (tap_random_below(&w->random, sanitized() ? 1000 : 60) == 0)
        return HUGE - tap_random_below(&w->random, 99);
    return tap_random_below(&w->random,
                            (size_t)1 << (4 + tap_random_below(&w->random, sanitized() ? 10 : 15)));
}

/* Which update was wrong, and how. */
static void complain(const EVP_CIPHER_CTX *context, size_t length, int in_place, const int done[])
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    fprintf(stderr, "# %s of %zu bytes%s: results %d/%d, written %d/%d, %s\n",
            EVP_CIPHER_get0_name(EVP_CIPHER_CTX_get0_cipher(context)), length,
            in_place ? " in place" : "", done[0], done[1], done[2], done[3],
            reason ? reason : "no error");
    ERR_clear_error();
}

/* Some updates on both; 1 if all are the same. */
static int go_on(struct worker *w, EVP_CIPHER_CTX *ours, EVP_CIPHER_CTX *reference, int in_place)
{
    int right = 1;
    for (size_t updates = 1 + tap_random_below(&w->random, 4); right && updates; updates--) {
        size_t length = some_length(w);
        int n = 0, m = 0;
        memset(w->in, (int)tap_random_next(&w->random), length);
        if (in_place)
            memcpy(w->ours, w->in, length);
        int a = EVP_CipherUpdate(ours, w->ours, &n, in_place ? w->ours : w->in, (int)length);
        int b = EVP_CipherUpdate(reference, w->reference, &m, w->in, (int)length);
        right = a == 1 && b == 1 && n == m && !memcmp(w->ours, w->reference, (size_t)n);
        if (!right)
            complain(ours, length, in_place, (const int[]){a, b, n, m});
    }
    return right;
}

static int own_context(struct worker *w)
{
    size_t row = tap_random_below(&w->random, SHARED);
    int encrypt = (int)tap_random_below(&w->random, 2), right = 1;
    int in_place = cipher_rows[row].mode == CTR && tap_random_below(&w->random, 2);
    unsigned char key[32], iv[BLOCK];
    EVP_CIPHER *fetched[SIDES] = {fetch_ours(&test_providers, cipher_rows[row].name),
                                  fetch_reference(&test_providers, cipher_rows[row].name)};
    EVP_CIPHER_CTX *c[SIDES];
    tap_random_bytes(&w->random, key, sizeof key);
    tap_random_bytes(&w->random, iv, sizeof iv);
    for (int i = 0; i < SIDES; i++) {
        c[i] = EVP_CIPHER_CTX_new();
        right &= EVP_CipherInit_ex2(c[i], fetched[i], key, iv, encrypt, NULL);
    }
    right = right && go_on(w, c[OURS], c[REFERENCE], in_place);
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX_free(c[i]);
        EVP_CIPHER_free(fetched[i]);
    }
    return right;
}

/* A copy of what others copy as well; then the shared one itself goes on by a bit. */
static int shared_context(struct worker *w)
{
    size_t row = tap_random_below(&w->random, SHARED);
    EVP_CIPHER_CTX *copy[SIDES] = {EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new()};
    int right = 1, n, m;
    (void)pthread_mutex_lock(&sharing[row]);
    for (int i = 0; i < SIDES; i++)
        right &= EVP_CIPHER_CTX_copy(copy[i], shared[i][row]);
    memset(w->in, 3, 333);
    right = right && EVP_CipherUpdate(shared[OURS][row], w->ours, &n, w->in, 333) &&
            EVP_CipherUpdate(shared[REFERENCE][row], w->reference, &m, w->in, 333) && n == m &&
            !memcmp(w->ours, w->reference, (size_t)n);
    (void)pthread_mutex_unlock(&sharing[row]);
    right = right && go_on(w, copy[OURS], copy[REFERENCE], 0);
    EVP_CIPHER_CTX_free(copy[OURS]);
    EVP_CIPHER_CTX_free(copy[REFERENCE]);
    return right;
}

/* A message in some updates, one of which may be huge. */
static int some_message(struct worker *w)
{
    uint64_t seed = tap_random_next(&w->random);
    struct sealed s = sealed_make(seed % 2 ? "AES-256-GCM" : "AES-128-GCM", (int)(seed >> 8 & 1),
                                  some_length(w) + 1, seed);
    EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
    int right =
        context != NULL && sealed_agrees(&s, context, w->ours, 1 + seed % 5, (int)(seed >> 9 & 1));
    if (!right)
        fprintf(stderr, "# %s of %zu bytes\n", s.cipher, s.bytes);
    EVP_CIPHER_CTX_free(context);
    sealed_free(&s);
    return right;
}

static int some_base64(struct worker *w)
{
    size_t room = LARGEST * 2, length = 3 * tap_random_below(&w->random, 20000) + 3;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;
    tap_random_bytes(&w->random, w->in, 64);
    int expected = EVP_EncodeBlock(w->reference, w->in, (int)length);
    int right = EVP_CipherInit_ex2(context, base64, NULL, NULL, 1, params) &&
                EVP_CipherUpdate(context, w->ours, &n, w->in, (int)length) &&
                EVP_CipherFinal_ex(context, w->ours + n, &last) && n + last == expected &&
                !memcmp(w->ours, w->reference, (size_t)expected);
    EVP_CIPHER_CTX_free(context);
    return right;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    while (!atomic_load(&stop)) {
        size_t what = tap_random_below(&w->random, 10);
        int right = what == 0   ? some_base64(w)
                    : what == 1 ? ahead_get().pinned <= (uint64_t)256 * MIB
                    : what < 4  ? shared_context(w)
                    : what < 6  ? some_message(w)
                                : own_context(w);
        w->rounds++;
        w->wrong += !right;
        atomic_fetch_add(&progress, 1);
    }
    return NULL;
}

/* ---- Faults and the watch ----------------------------------------------------------------- */

/*
 * What happens at which part of the time, in hundredths, or later: no more devices may be left,
 * which waits for what came before. Where all is slow, the time may end before a device is lost.
 */
static const struct {
    int at;
    unsigned devices;
    const char *options;
} events[] = {
    {10, 3, "devices=3,fault=mem_host_alloc:1:2,fault=mem_alloc:1:2"},
    {20, 3, "devices=3,register=none"},
    {25, 3, "devices=3,fault-device=0,lost=launch_kernel:1"},
    {40, 2, "devices=3,stay-lost=1,fault=mem_host_alloc:2:2,fault=mem_host_alloc:4:2"},
    {50, 2, "devices=3,stay-lost=1,fault-device=2,fault=event_record:1,fault=stream_query:1"},
    {85, 1, "devices=3,stay-lost=1,kernel-us=300"},
    {95, 1, "devices=3,stay-lost=1"}};
static size_t event_count; /* 0: the driver is no emulator */

static int is_due(size_t event, time_t now)
{
    return event < event_count &&
           (now - began_at) * 100 >= events[event].at * (ends_at - began_at) &&
           devices_in_use() <= events[event].devices;
}

static void watch(void)
{
    size_t last = 0, next = 0;
    time_t moved_at = time(NULL);
    for (time_t now = moved_at;
         now < ends_at || (next < event_count && now < ends_at + STANDSTILL_SECONDS);
         now = time(NULL)) {
        size_t all = atomic_load(&progress);
        if (all != last)
            moved_at = now;
        last = all;
        if (now - moved_at > STANDSTILL_SECONDS) {
            puts("Bail out! no thread makes progress: a deadlock");
            abort();
        }
        if (is_due(next, now))
            emulate(events[next++].options);
        sleep_ms(50);
    }
    /* All must come out of what they do. */
    atomic_store(&stop, 1);
    alarm(STANDSTILL_SECONDS);
}

/* ---- All of it ---------------------------------------------------------------------- */

static void open_shared(void)
{
    static const unsigned char key[32] = "a key that is shared", iv[BLOCK] = "and an IV";
    for (int row = 0; row < SHARED; row++) {
        (void)pthread_mutex_init(&sharing[row], NULL);
        ciphers[OURS][row] = fetch_ours(&test_providers, cipher_rows[row].name);
        ciphers[REFERENCE][row] = fetch_reference(&test_providers, cipher_rows[row].name);
        for (int i = 0; i < SIDES; i++) {
            shared[i][row] = EVP_CIPHER_CTX_new();
            if (!EVP_CipherInit_ex2(shared[i][row], ciphers[i][row], key, iv, 1, NULL))
                abort();
        }
    }
    base64 = fetch_ours(&test_providers, "BASE64");
}

static void close_shared(void)
{
    for (int row = 0; row < SHARED; row++)
        for (int i = 0; i < SIDES; i++) {
            EVP_CIPHER_CTX_free(shared[i][row]);
            EVP_CIPHER_free(ciphers[i][row]);
        }
    EVP_CIPHER_free(base64);
}

static void begin(struct worker *w, uint64_t seed)
{
    w->random.state = seed | 1;
    w->in = calloc(1, HUGE + 64);
    w->ours = malloc(HUGE + 64);
    w->reference = malloc(HUGE + 64);
    if (pthread_create(&w->thread, NULL, work, w) != 0)
        abort();
}

static void end(struct worker *w)
{
    pthread_join(w->thread, NULL);
    free(w->in);
    free(w->ours);
    free(w->reference);
}

int main(void)
{
    static struct worker workers[MOST_THREADS];
    size_t threads = setting("GPUAES_TEST_THREADS", MOST_THREADS), rounds = 0, wrong = 0;
    struct tap_random random;
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_MIN_BYTES", sanitized() ? "200" : "2000", 0);
    setenv("GPUAES_DEVICES", "all", 0);
    setenv("GPUAES_THREADS", "3", 0);
    setenv("GPUAES_EMULATOR", "devices=3", 1);
    tap_random_seed(&random);
    test_providers = providers_load();
    int emulated = application_hook("emulator_contexts") != NULL;
    event_count = emulated ? sizeof events / sizeof events[0] : 0;
    open_shared();
    began_at = time(NULL);
    ends_at = began_at + (time_t)setting("GPUAES_TEST_SECONDS", 10);
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    for (size_t i = 0; i < threads; i++)
        begin(&workers[i], tap_random_next(&random));
    watch();
    for (size_t i = 0; i < threads; i++) {
        end(&workers[i]);
        rounds += workers[i].rounds;
        wrong += workers[i].wrong;
    }
    alarm(0);
    struct ahead a = ahead_get();
    tap_ok(wrong == 0 && rounds >= threads, "%zu threads, %zu rounds: %zu wrong", threads, rounds,
           wrong);
    tap_ok((a.faults != 0) == emulated && a.gpu != 0, "%llu bytes by the devices, %llu faults",
           (unsigned long long)a.gpu, (unsigned long long)a.faults);
    if (emulated)
        tap_ok(devices_in_use() == 1, "two of three devices are lost, the third goes on");
    else
        tap_skip("no device is lost");
    close_shared();
    providers_unload(&test_providers);
    return tap_done();
}
