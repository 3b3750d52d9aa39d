/*
 * Large updates through EVP as several threads of the provider do them, which sixteen CPUs give to
 * each, whatever this machine has: streams of random updates compared with the default provider's,
 * in place and out of place, forks in the middle of a stream, and a GPU that is lost in one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>

#include "test/support/cases.h"
#include "test/support/compared.h"
#include "test/support/leaks_allowed.h" /* a child ends while threads run */

enum { CPUS = 16, LARGEST = 20 * MIB };

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

/* Padding is off: bytes that are held back would shift output that is in place. */
static struct stream open_stream(size_t row)
{
    struct memory *memory = memory_for(tap_random_next(&random_state), LARGEST);
    unsigned char key[32], iv[BLOCK];
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, iv, sizeof iv);
    struct stream s = stream_open_with(memory, rows[row].cipher, key, iv, rows[row].encrypt, NULL);
    if (!stream_set_padding(&s, 0))
        abort();
    return s;
}

static void close_stream(struct stream *s)
{
    free(s->memory);
    stream_close(s);
}

static int update(struct stream *s, int in_place, size_t length)
{
    return stream_call(s, &(struct call){UPDATE, length, .out_of_place = !in_place});
}

/* ---- Cases ------------------------------------------------------------------------------ */

static int streams(size_t row)
{
    int right = 1;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct stream s = open_stream(row);
        right = update(&s, in_place, 16 * MIB) && right;
        size_t length = tap_random_below(&random_state, LARGEST);
        right = update(&s, in_place, in_place ? length / BLOCK * BLOCK : length) && right;
        close_stream(&s);
    }
    struct figures figures = figures_get(&test_providers);
    return right && (stand_in() || (figures.gpu_bytes >= 32 * MIB && figures.faults == 0 &&
                                    atomic_load(&asked) > 0));
}

/* The child has no threads, and goes on with the CPU. */
static int forks(size_t row)
{
    struct stream s = open_stream(row);
    int right = update(&s, 1, 16 * MIB);
    pid_t child = fork();
    if (child == 0)
        _exit(!update(&s, 1, 16 * MIB + 160));
    right = ended_well(child) && right && update(&s, 1, 16 * MIB);
    close_stream(&s);
    return right;
}

/* The CPU finishes what the GPU does not. */
static int is_lost(size_t row)
{
    struct stream s = open_stream(row);
    int right = 1;
    for (int i = 0; right && i < 2; i++)
        right = update(&s, (int)row % 2, 16 * MIB);
    close_stream(&s);
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
        test_providers = providers_load();
        int right =
            cases[strtoul(argv[1], NULL, 10) % CASES].run(strtoul(argv[2], NULL, 10) % ROWS);
        providers_unload(&test_providers);
        return !right;
    }
    unsetenv("GPUAES_THREADS");
    for (size_t i = 0; i < CASES; i++)
        for (size_t row = sanitized() ? i : 0; row < ROWS; row += sanitized() ? CASES : 1)
            tap_ok(
                ended_well(case_begin("GPUAES_MIN_BYTES=0", cases[i].emulator, "%zu %zu", i, row)),
                "%s: %s", cases[i].name, rows[row].cipher);
    return tap_done();
}
