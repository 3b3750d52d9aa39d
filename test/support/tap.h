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

#define TAP_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* One assertion; returns whether it held. Flushed, so that a fork repeats nothing. */
TAP_PRINTF(2, 3)
int tap_ok(int condition, const char *format, ...);

/* A line for the reader, shown by prove -v. */
TAP_PRINTF(1, 2)
void tap_diag(const char *format, ...);

/* An assertion that cannot be made here; the text says why. */
TAP_PRINTF(1, 2)
void tap_skip(const char *format, ...);

/* Prints the plan; the exit status of the program. */
int tap_done(void);

/* The plan of a program that has nothing to assert here, and its exit status; the text says why. */
int tap_skip_all(const char *reason);

/* 1 under a sanitizer (see Sanitize.pm), which takes long: more of the same is left out. */
int sanitized(void);

/* The number that is in the environment, where the name is. */
size_t setting(const char *name, size_t otherwise);

/* ---- Time ---------------------------------------------------------------- */

/* Waits so long, through the signals that asan_forks.h sends. */
void sleep_ms(long ms);

/* Looks each millisecond whether a condition has come, for a minute. 1 if it has. */
#define COMES(condition)                                                                           \
    __extension__({                                                                                \
        int left_ms = 60000;                                                                       \
        while (!(condition) && --left_ms > 0)                                                      \
            sleep_ms(1);                                                                           \
        left_ms > 0;                                                                               \
    })

/*
 * The timeout-ms of a test with such options of the emulator. It is short only where a kernel is to
 * hang: on a busy machine all others are slow, and none of them is lost.
 */
unsigned timeout_for(const char *emulator);

/* The same for the provider of processes that begin from here on. */
void set_timeout_for(const char *emulator);

/* ---- Random numbers: xorshift64*, not for secrets ------------------------ */

struct tap_random {
    uint64_t state;
};
extern struct tap_random random_state; /* the program's, for one thread at a time */

uint64_t tap_random_next(struct tap_random *random);

/* 0 .. limit - 1 */
size_t tap_random_below(struct tap_random *random, size_t limit);
void tap_random_bytes(struct tap_random *random, void *to, size_t length);

/* Starts at GPUAES_TEST_SEED where it is set, else at the clock; prints the seed. */
void tap_random_seed(struct tap_random *random);

#endif
