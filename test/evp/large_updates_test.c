/*
 * Large updates through EVP as several threads of the provider do them, which sixteen CPUs give to
 * each, whatever this machine has: streams of random updates beside the default provider's, in
 * place and apart, forks in the middle of a stream, and a GPU that is lost in one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>

#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* a child ends beside threads */

enum { CPUS = 16, UPDATES = 2, LARGEST = 20 << 20 };

static atomic_uint asked;

/* In the place of libc's, for the module too. */
__attribute__((visibility("default"))) int sched_getaffinity(pid_t thread, size_t bytes,
                                                             cpu_set_t *set)
{
    (void)thread;
    atomic_fetch_add(&asked, 1);
    CPU_ZERO_S(bytes, set);
    for (size_t i = 0; i < CPUS; i++)
        CPU_SET_S(i, bytes, set);
    return 0;
}

static const struct {
    const char *cipher;
    int encrypt;
} rows[] = {{"AES-256-CTR", 1}, {"AES-128-ECB", 1}, {"AES-192-ECB", 0}, {"AES-256-CBC", 0}};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct stream {
    EVP_CIPHER_CTX *ours, *reference;
    int in_place;
};

static struct stream stream_open(size_t row, int in_place)
{
    unsigned char key[32], iv[16];
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, iv, sizeof iv);
    struct stream s = {context_open(1, rows[row].cipher, key, iv, rows[row].encrypt, NULL),
                       context_open(0, rows[row].cipher, key, iv, rows[row].encrypt, NULL),
                       in_place};
    EVP_CIPHER_CTX_set_padding(s.ours, 0);
    EVP_CIPHER_CTX_set_padding(s.reference, 0);
    return s;
}

static void stream_close(struct stream *s)
{
    EVP_CIPHER_CTX_free(s->ours);
    EVP_CIPHER_CTX_free(s->reference);
}

static int update_is_right(struct stream *s, size_t length)
{
    unsigned char *in = malloc(length), *expected = malloc(length + 16);
    int n = -1, m = -2;
    tap_random_bytes(&random_state, in, length);
    int right = EVP_CipherUpdate(s->reference, expected, &m, in, (int)length);
    unsigned char *out = s->in_place ? in : malloc(length + 16);
    right = EVP_CipherUpdate(s->ours, out, &n, in, (int)length) && right && n == m &&
            memcmp(out, expected, (size_t)m) == 0;
    if (!s->in_place)
        free(out);
    free(expected);
    free(in);
    return right;
}

/* Whole blocks where it is in place: what is held back would shift the output. */
static size_t random_length(const struct stream *s)
{
    size_t length = tap_random_below(&random_state, LARGEST);
    return s->in_place ? length / 16 * 16 : length;
}

/* ---- Cases ------------------------------------------------------------------------------ */

static int streams(size_t row)
{
    int right = 1;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct stream s = stream_open(row, in_place);
        right = update_is_right(&s, 16 << 20) && right;
        for (int i = 0; right && i < UPDATES; i++)
            right = update_is_right(&s, random_length(&s));
        stream_close(&s);
    }
    struct figures figures = figures_get(&providers);
    return right && (stand_in() || (figures.gpu_bytes > 32 << 20 && figures.faults == 0 &&
                                    atomic_load(&asked) > 0));
}

/* The child has no threads, and goes on with the CPU. */
static int forks(size_t row)
{
    struct stream s = stream_open(row, 1);
    int right = update_is_right(&s, 16 << 20), status = -1;
    for (int i = 0; right && i < 2; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(!update_is_right(&s, (16 << 20) + 160));
        right = waitpid(child, &status, 0) == child && status == 0 && update_is_right(&s, 16 << 20);
    }
    stream_close(&s);
    return right;
}

/* The CPU finishes what the GPU does not. */
static int is_lost(size_t row)
{
    struct stream s = stream_open(row, (int)row % 2);
    int right = 1;
    for (int i = 0; right && i < 2; i++)
        right = update_is_right(&s, 16 << 20);
    stream_close(&s);
    return right && (stand_in() || figure("faults") > 0);
}

static const struct {
    const char *name, *emulator;
    int (*run)(size_t row);
} cases[] = {
    {"random updates", "", streams},
    {"forks", "", forks},
    {"a GPU that is lost", "lost=launch_kernel:40", is_lost},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    tap_random_seed(&random_state);
    if (argc > 2) {
        alarm(600);
        providers = providers_load();
        int right =
            cases[strtoul(argv[1], NULL, 10) % CASES].run(strtoul(argv[2], NULL, 10) % ROWS);
        providers_unload(&providers);
        return !right;
    }
    unsetenv("GPUAES_THREADS");
    for (size_t i = 0; i < CASES; i++)
        for (size_t row = 0; row < ROWS; row++)
            tap_ok(
                ended_well(case_begin("GPUAES_MIN_BYTES=0", cases[i].emulator, "%zu %zu", i, row)),
                "%s: %s", cases[i].name, rows[row].cipher);
    return tap_done();
}
