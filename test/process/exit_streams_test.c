/*
 * A process that ends while its threads encrypt: by exit() in the main thread or in one of those,
 * with and without OPENSSL_cleanup(), and by quick_exit(). The driver's handler takes pinned memory
 * away; after it the threads must go on with the CPU and touch none. Each case is a run of this
 * program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* the process ends with everything still there */
#include "test/support/read_ahead_streams.h"

enum { STATUS = 42, LIMIT = 200, TURNS = 3, MORE = 20 };

static struct load {
    const char *name, *settings;
    size_t length; /* of an update */
    unsigned threads;
} const loads[] = {
    {"large read-ahead", "GPUAES_MIN_BYTES=1G GPUAES_START=eager", 256 * KIB, 2},
    {"small read-ahead", "GPUAES_MIN_BYTES=1G GPUAES_START=eager", 4 * KIB, 3},
    {"offloaded", "GPUAES_MIN_BYTES=64K GPUAES_START=eager", MIB, 2},
};
enum { LOADS = sizeof loads / sizeof loads[0], THREADS_MOST = 3 };

static const struct load *load;
static _Atomic size_t updates[THREADS_MOST];
static atomic_int first_exits; /* the first thread is to call exit() */

static void *encrypt(void *count)
{
    _Atomic size_t *own = count;
    unsigned char *buffer = calloc(1, load->length + BLOCK);
    EVP_CIPHER *cipher = fetch_ours(&providers, "AES-256-CTR");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n, ok = EVP_EncryptInit_ex2(context, cipher, usual_key, usual_iv, NULL);
    while (ok && !(own == updates && first_exits)) {
        ok = EVP_EncryptUpdate(context, buffer, &n, buffer, (int)load->length);
        atomic_fetch_add(own, 1);
    }
    if (ok)
        exit(STATUS);
    ERR_print_errors_fp(stderr);
    _exit(1);
}

/* Until each thread that goes on has done so many updates more. */
static void await_updates(size_t more)
{
    size_t begun[THREADS_MOST] = {0};
    for (unsigned i = 0; i < load->threads; i++)
        begun[i] = atomic_load(&updates[i]);
    for (unsigned i = first_exits ? 1 : 0; i < load->threads; i++)
        while (atomic_load(&updates[i]) < begun[i] + more)
            sleep_ms(1);
}

/* The last handler: pinned memory is gone by now, and the threads go on. */
static void look_after_exit(void)
{
    await_updates(MORE);
    _exit(STATUS);
}

static uint64_t bytes_of_device(void)
{
    struct ahead figures = ahead_get();
    return figures.bytes + figures.gpu;
}

static int begin_and_end(const char *how)
{
    pthread_t thread;
    if (atexit(look_after_exit) != 0 || at_quick_exit(look_after_exit) != 0)
        return 1;
    if (strcmp(how, "without-cleanup") == 0)
        OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    application_environment(load->settings);
    providers = providers_load();
    if (!ahead_start(LIMIT * 1000))
        return 1;
    for (unsigned i = 0; i < load->threads; i++)
        if (pthread_create(&thread, NULL, encrypt, &updates[i]) != 0)
            return 1;
    await_updates(MORE);
    for (uint64_t begun = bytes_of_device(); bytes_of_device() < begun + 8 * MIB;)
        sleep_ms(1);
    if (strcmp(how, "thread") == 0) {
        first_exits = 1;
        for (;;)
            pause();
    }
    if (strcmp(how, "cleanup") == 0)
        OPENSSL_cleanup();
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(STATUS);
    exit(STATUS);
}

/* 1 if the runs ended as they were to. */
static int ends_well(const struct load *l, const char *how)
{
    for (int turn = 0; turn < (sanitized() ? 1 : TURNS); turn++) {
        int status = exit_status(
            case_begin(NULL, "idle-kernels=1,ends-at-exit=1", "%d %s", (int)(l - loads), how));
        if (status != STATUS) {
            tap_diag("status %d", status);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"exit", "thread", "without-cleanup", "cleanup",
                                       "quick_exit"};
    if (argc == 3) {
        alarm(LIMIT);
        load = &loads[strtoul(argv[1], NULL, 10)];
        return begin_and_end(argv[2]);
    }
    for (const struct load *l = loads; l < loads + LOADS; l++)
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
            tap_ok(ends_well(l, ways[i]), "a process can end while threads encrypt (%s): %s",
                   l->name, ways[i]);
    return tap_done();
}
