/*
 * A process that ends while threads stream through the device: by return from main(), by exit(),
 * there, in another thread or in one of those that stream, by quick_exit() and by _exit(); with
 * OPENSSL_cleanup() as libcrypto has it (an exit handler in OpenSSL 3, a destructor in 4, of which
 * no thread is told), with one by the application while they stream, and without any, so that no
 * provider is torn down. It ends as it would have without us, and until then every update succeeds.
 * Each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* some cases end with everything still there */
#include "test/support/read_ahead_streams.h"

#define ALL_AHEAD "1G" /* min-bytes: no update is large */

enum {
    STATUS = 42,
    FAILED = 3,
    LIMIT = 120,
    STREAMS = 4,
    LARGE = 256 * KIB, /* an update for the device; those of PACED bytes are read ahead of */
    MORE = 8           /* updates of each thread while the process ends */
};

static struct {
    EVP_CIPHER *cipher;
    size_t length; /* of an update */
    atomic_uint updates;
} streams[STREAMS];

static int all_ahead;          /* no update is large */
static atomic_int first_exits; /* the first thread that streams is to call exit() */

/* ---- What streams ------------------------------------------------------------------- */

/*
 * Where large updates are offloaded, slower than the device, so that keystream of it is there to be
 * used; else without a pause, so that the end finds threads inside their rings.
 */
static void *stream(void *number)
{
    size_t i = (size_t)(uintptr_t)number, length = streams[i].length;
    unsigned char *text = calloc(1, length);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0;
    if (text == NULL ||
        !EVP_CipherInit_ex2(context, streams[i].cipher, usual_key, usual_iv, 1, NULL))
        _exit(FAILED);
    while (EVP_CipherUpdate(context, text, &n, text, (int)length) && n == (int)length) {
        if (first_exits && i == 0)
            exit(STATUS);
        atomic_fetch_add(&streams[i].updates, 1);
        if (!all_ahead)
            sleep_ms(1);
    }
    _exit(FAILED);
}

/* Waits until each thread that goes on has done more updates; the alarm ends what does not come. */
static void wait_for_updates(void)
{
    unsigned from[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        from[i] = atomic_load(&streams[i].updates);
    for (int i = first_exits ? 1 : 0; i < STREAMS; i++)
        while (atomic_load(&streams[i].updates) - from[i] < MORE)
            sleep_ms(1);
}

/* In the application's default context, which OPENSSL_cleanup() frees. */
static int load(void)
{
    test_providers.properties = stand_in() ? "provider=default" : "provider=gpuaes";
    test_providers.gpuaes = stand_in() ? NULL : OSSL_PROVIDER_load(NULL, "gpuaes");
    test_providers.ours_default = OSSL_PROVIDER_load(NULL, "default");
    return (stand_in() || test_providers.gpuaes != NULL) && test_providers.ours_default != NULL &&
           ahead_start(LIMIT * 1000L);
}

/* Half of the threads have small updates, which are read ahead of, half large ones. */
static int begin(void)
{
    pthread_t thread;
    const char *min_bytes = getenv("GPUAES_MIN_BYTES");
    all_ahead = min_bytes != NULL && strcmp(min_bytes, ALL_AHEAD) == 0;
    for (uintptr_t i = 0; i < STREAMS; i++) {
        streams[i].length = i % 2 == 0 ? PACED : LARGE;
        streams[i].cipher = fetch_ours(&test_providers, i < 2 ? "AES-256-CTR" : "AES-128-CTR");
        if (streams[i].cipher == NULL || pthread_create(&thread, NULL, stream, (void *)i) != 0)
            return 0;
    }
    struct ahead before = ahead_get(), now;
    do {
        sleep_ms(1);
        now = ahead_get();
    } while (!stand_in() &&
             (now.bytes - before.bytes < 512 * KIB ||
              (!all_ahead && now.gpu - before.gpu - (now.bytes - before.bytes) < 4 * LARGE)));
    wait_for_updates();
    return 1;
}

/* ---- How it ends --------------------------------------------------------------------- */

static void *leave(void *unused)
{
    (void)unused;
    exit(STATUS);
}

static int end(const char *way, const char *cleanup)
{
    pthread_t thread;
    if (strcmp(cleanup, "explicit") == 0) {
        OPENSSL_cleanup();
        wait_for_updates();
    }
    if (strcmp(way, "exit") == 0)
        exit(STATUS);
    while (strcmp(way, "stream") == 0) {
        first_exits = 1;
        pause();
    }
    if (strcmp(way, "thread") == 0 && pthread_create(&thread, NULL, leave, NULL) == 0)
        pthread_join(thread, NULL);
    else if (strcmp(way, "quick_exit") == 0)
        quick_exit(STATUS);
    else if (strcmp(way, "_exit") == 0)
        _exit(STATUS);
    return STATUS;
}

/*
 * The handlers are registered before libcrypto's and ours, and so run after them: what these
 * have taken away the threads then must do without.
 */
static int run(const char *way, const char *cleanup)
{
    alarm(LIMIT);
    if (atexit(wait_for_updates) != 0 || at_quick_exit(wait_for_updates) != 0)
        return FAILED;
    if (strcmp(cleanup, "never") == 0 && !OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL))
        return FAILED;
    if (load() && begin())
        return end(way, cleanup);
    ERR_print_errors_fp(stderr);
    _exit(FAILED); /* the handlers would wait for threads that there are not */
}

/* Under a sanitizer by turns one of both loads, of which each way gets either. */
static void test(const char *way, const char *cleanup)
{
    static size_t turn;
    static const struct {
        const char *name, *settings, *emulator;
    } loads[] = {
        {"half offloaded", "GPUAES_MIN_BYTES=64K", "idle-kernels=1,kernel-us=3000,ends-at-exit=1"},
        {"all read ahead of", "GPUAES_MIN_BYTES=" ALL_AHEAD, "idle-kernels=1,ends-at-exit=1"}};
    for (size_t i = sanitized() ? turn++ % 2 : 0; i < 2; i += sanitized() ? 2 : 1) {
        int status =
            exit_status(case_begin(loads[i].settings, loads[i].emulator, "%s %s", way, cleanup));
        if (status != STATUS)
            tap_diag("status %d", status);
        tap_ok(status == STATUS, "threads stream, %s, while the process ends: %s, cleanup %s",
               loads[i].name, way, cleanup);
    }
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"return", "exit", "thread", "stream", "quick_exit", "_exit"};
    if (argc == 3)
        return run(argv[1], argv[2]);
    setenv("GPUAES_START", "eager", 1);
    tap_diag("%s", OpenSSL_version(OPENSSL_VERSION));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int handlers = strstr(ways[i], "_exit") == NULL; /* that exit handlers run */
        if (handlers)
            test(ways[i], "by-libcrypto");
        test(ways[i], "never");
        test(ways[i], "explicit");
    }
    return tap_done();
}
