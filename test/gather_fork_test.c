/*
 * Processes that fork where updates of theirs are gathered. A child has no thread that gathers:
 * it goes on with the same context by itself, at once, and so does a child of that. And the
 * handler of a signal may fork wherever it has interrupted an update.
 *
 * The device's state belongs to the process, so each case is this program again.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "cases.h"
#include "jobs.h"
#include "leaks_allowed.h" /* children end beside threads */

enum { PIECE = 20000, UPDATES = 5, LIMIT_SECONDS = 100 };

static struct providers providers;
static EVP_CIPHER_CTX *ours, *reference;

static EVP_CIPHER_CTX *begin(EVP_CIPHER *cipher)
{
    static const unsigned char key[32] = "of parent and child", iv[16] = "and so is this.";
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(context, cipher, key, iv, 1, NULL);
    EVP_CIPHER_free(cipher);
    return context;
}

/* CBC encryption, which a device does for what is gathered alone. */
static void open_stream(void)
{
    ours = begin(fetch_ours(&providers, "AES-256-CBC"));
    reference = begin(fetch_reference(&providers, "AES-256-CBC"));
}

static void close_stream(void)
{
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
}

enum result { WRONG, RIGHT, REFUSED };

static enum result update(void)
{
    static unsigned char in[PIECE], out[PIECE + 32], expected[PIECE + 32];
    int n = 0, m = 0;
    memset(in, in[0] + 1, sizeof in);
    if (!EVP_CipherUpdate(reference, expected, &m, in, PIECE))
        return WRONG;
    if (!EVP_CipherUpdate(ours, out, &n, in, PIECE))
        return REFUSED;
    return n == m && memcmp(out, expected, (size_t)n) == 0 ? RIGHT : WRONG;
}

static int goes_on(void)
{
    int right = 1;
    for (int i = 0; right && i < UPDATES; i++)
        right = update() == RIGHT;
    return right;
}

/* ---- Forks between updates ------------------------------------------------------------ */

static int goes_on_in_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT_SECONDS);
        _exit(!goes_on());
    }
    return ended_well(child) && goes_on();
}

static int fork_between(void)
{
    int right = goes_on() && figures_get(&providers).gpu_bytes != 0;
    for (int i = 0; right && i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(LIMIT_SECONDS);
            right = goes_on() && goes_on_in_child();
            close_stream();
            open_stream();
            _exit(!(right && goes_on() && goes_on_in_child()));
        }
        right = ended_well(child) && goes_on();
    }
    close_stream();
    return right;
}

/* ---- Forks in the handler of a signal ---------------------------------------------------- */

static pthread_t interrupted;
static atomic_int is_armed;
static volatile pid_t child_of_handler = -1;

static void fork_in_handler(int unused)
{
    (void)unused;
    child_of_handler = fork();
}

/* Takes the place of libc's. The module wakes its thread by it, with the queue's lock. */
int pthread_cond_signal(pthread_cond_t *condition)
{
    static int (*next)(pthread_cond_t *);
    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_cond_signal");
        memcpy(&next, &symbol, sizeof next);
    }
    if (atomic_load(&is_armed) && pthread_equal(pthread_self(), interrupted)) {
        atomic_store(&is_armed, 0);
        raise(SIGUSR1);
        if (child_of_handler == 0)
            return 0; /* there is nobody to wake */
    }
    return next(condition);
}

/* The child comes back from the handler, too: what it finds half done is refused. */
static int fork_within(void)
{
    enum result result = goes_on() ? RIGHT : WRONG;
    signal(SIGUSR1, fork_in_handler);
    interrupted = pthread_self();
    atomic_store(&is_armed, 1);
    while (result == RIGHT && child_of_handler == -1) {
        usleep(1000); /* until the thread sleeps, and is woken */
        result = update();
    }
    if (child_of_handler == 0) {
        alarm(LIMIT_SECONDS);
        close_stream();
        open_stream();
        _exit(!(result == REFUSED && goes_on() && goes_on_in_child()));
    }
    int right = result == RIGHT && ended_well(child_of_handler) && goes_on() && goes_on_in_child();
    close_stream();
    return right;
}

/* ---- Runs --------------------------------------------------------------------------------- */

static int run_case(const char *name)
{
    alarm(LIMIT_SECONDS);
    providers = providers_load();
    start_device(&providers);
    open_stream();
    int right = strcmp(name, "between") == 0 ? fork_between() : fork_within();
    providers_unload(&providers);
    return !right;
}

int main(int argc, char **argv)
{
    static const char settings[] = "GPUAES_ENGINE=gpu GPUAES_MIN_BYTES=0 GPUAES_BATCH_WAIT_US=200";
    if (argc == 2)
        return run_case(argv[1]);
    tap_ok(ended_well(case_begin(settings, NULL, "between")), "children go on with a context");
    tap_ok(ended_well(case_begin(settings, NULL, "within")),
           "a handler forks that has interrupted an update");
    return tap_done();
}
