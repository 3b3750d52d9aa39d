/*
 * Test Anything Protocol, time limits and random numbers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/tap.h"

#include <errno.h>

#include "test/support/asan_forks.h"

static struct {
    unsigned count, failed;
} tap_state;
struct tap_random random_state;

__attribute__((constructor)) static void begin(void)
{
    asan_forks_watch();
}

int tap_ok(int condition, const char *format, ...)
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

void tap_diag(const char *format, ...)
{
    va_list arguments;

    fputs("# ", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

void tap_skip(const char *format, ...)
{
    va_list arguments;

    printf("ok %u # SKIP ", ++tap_state.count);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

int tap_done(void)
{
    printf("1..%u\n", tap_state.count);
    fflush(stdout);
    return tap_state.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int tap_skip_all(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return EXIT_SUCCESS;
}

int sanitized(void)
{
    return getenv("GPUAES_TEST_SANITIZER") != NULL;
}

size_t setting(const char *name, size_t otherwise)
{
    const char *value = getenv(name);

    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* ---- Time ---------------------------------------------------------------- */

void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}

unsigned timeout_for(const char *emulator)
{
    return strstr(emulator, "hang=") != NULL ? 2000 : 60000;
}

void set_timeout_for(const char *emulator)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", timeout_for(emulator));
    setenv("GPUAES_TIMEOUT_MS", text, 1);
}

/* ---- Random numbers: xorshift64*, not for secrets ------------------------ */

uint64_t tap_random_next(struct tap_random *random)
{
    uint64_t x = random->state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * UINT64_C(2685821657736338717);
}

size_t tap_random_below(struct tap_random *random, size_t limit)
{
    return limit ? (size_t)((tap_random_next(random) >> 11) % limit) : 0;
}

void tap_random_bytes(struct tap_random *random, void *to, size_t length)
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

void tap_random_seed(struct tap_random *random)
{
    const char *given = getenv("GPUAES_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    tap_diag("GPUAES_TEST_SEED=%llu", (unsigned long long)seed);
    random->state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    if (!random->state)
        random->state = 1;
}
