/*
 * Test Anything Protocol for the C test programs, and what they share of time and
 * random numbers. One program, one plan: tap_ok() for each assertion, tap_done() as
 * the value of main(). Not for use from several threads at once.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TAP_H
#define GPUAES_TAP_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#if defined(__SANITIZE_ADDRESS__)
#include "test/support/asan_forks.h"
#endif

#define TAP_UNUSED __attribute__((unused))
#define TAP_PRINTF(f, a) __attribute__((format(printf, f, a)))

struct tap {
    unsigned count, failed;
};

static struct tap tap_state;

/* One assertion; returns whether it held. Flushed, so that a fork repeats nothing. */
TAP_UNUSED TAP_PRINTF(2, 3) static int tap_ok(int condition, const char *format, ...)
{
    va_list arguments;

    tap_state.count++;
    if (!condition)
        tap_state.failed++;
    printf("%sok %u - ", condition ? "" : "not ", tap_state.count);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    return condition;
}

/* A line for the reader, shown by prove -v. */
TAP_UNUSED TAP_PRINTF(1, 2) static void tap_diag(const char *format, ...)
{
    va_list arguments;

    fputs("# ", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

/* An assertion that cannot be made here; the text says why. */
TAP_UNUSED TAP_PRINTF(1, 2) static void tap_skip(const char *format, ...)
{
    va_list arguments;

    printf("ok %u # SKIP ", ++tap_state.count);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

/* Prints the plan; the exit status of the program. */
TAP_UNUSED static int tap_done(void)
{
    printf("1..%u\n", tap_state.count);
    fflush(stdout);
    return tap_state.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The plan of a program that has nothing to assert here, and its exit status; the text says why. */
TAP_UNUSED static int tap_skip_all(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return EXIT_SUCCESS;
}

/* 1 under a sanitizer (see Sanitize.pm), which takes long: more of the same is left out. */
TAP_UNUSED static int sanitized(void)
{
    return getenv("GPUAES_TEST_SANITIZER") != NULL;
}

/* The number that is in the environment, where the name is. */
TAP_UNUSED static size_t setting(const char *name, size_t otherwise)
{
    const char *value = getenv(name);

    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* ---- Time ---------------------------------------------------------------- */

TAP_UNUSED static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/*
 * The timeout-ms of a test with such options of the emulator. It is short only where a kernel is to
 * hang: on a busy machine all others are slow, and none of them is lost.
 */
TAP_UNUSED static unsigned timeout_for(const char *emulator)
{
    return strstr(emulator, "hang=") != NULL ? 2000 : 60000;
}

/* The same for the provider of processes that begin from here on. */
TAP_UNUSED static void set_timeout_for(const char *emulator)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", timeout_for(emulator));
    setenv("GPUAES_TIMEOUT_MS", text, 1);
}

/* ---- Random numbers: xorshift64*, not for secrets ------------------------ */

struct tap_random {
    uint64_t state;
};

TAP_UNUSED static uint64_t tap_random_next(struct tap_random *random)
{
    uint64_t x = random->state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * UINT64_C(2685821657736338717);
}

/* 0 .. limit - 1 */
TAP_UNUSED static size_t tap_random_below(struct tap_random *random, size_t limit)
{
    return limit ? (size_t)((tap_random_next(random) >> 11) % limit) : 0;
}

TAP_UNUSED static void tap_random_bytes(struct tap_random *random, void *to, size_t length)
{
    unsigned char *p = to;

    while (length) {
        uint64_t x = tap_random_next(random);
        size_t piece = length < sizeof x ? length : sizeof x;

        memcpy(p, &x, piece);
        p += piece;
        length -= piece;
    }
}

/* Starts at GPUAES_TEST_SEED where it is set, else at the clock; prints the seed. */
TAP_UNUSED static void tap_random_seed(struct tap_random *random)
{
    const char *given = getenv("GPUAES_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    tap_diag("GPUAES_TEST_SEED=%llu", (unsigned long long)seed);
    random->state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    if (!random->state)
        random->state = 1;
}

#endif
