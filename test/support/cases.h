/*
 * Cases that are runs of the test's program of their own, since the state of a device belongs
 * to the process: with arguments, main() is the case that they name; without, it goes through
 * all. And how children end, of whatever kind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_CASES_H
#define GPUAES_TEST_CASES_H

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "test/support/application.h"
#include "test/support/providers.h"
#include "test/support/tap.h"

enum { CASE_ARGUMENTS = 2, CASE_TEXT = 256 };

extern char *program_invocation_name; /* of glibc, whose errno.h tells with _GNU_SOURCE alone */

/*
 * Begins this program again; -1 if there can be no process. The words of the format, one space
 * between them, are its arguments; `settings` are as application_environment() has them, and
 * `emulator` is its GPUAES_EMULATOR. NULL: as they are here.
 */
TAP_PRINTF(3, 4)
pid_t case_begin(const char *settings, const char *emulator, const char *format, ...);

/*
 * The case that this process is, with the providers loaded: the status that it is to exit with.
 * `run` returns 1 if all is right, 0 if not, -1 if it cannot be tried here; it has so many seconds.
 */
int case_run(int (*run)(void), unsigned seconds);

/* A row of a table of cases; settings and emulator are those of case_begin(). */
struct case_row {
    const char *name, *settings, *emulator;
    int (*run)(void); /* as case_run() has it */
};

/* Runs the case that the program's argument names. Returns its exit status. */
int case_named(const char *number, const struct case_row *cases);

/* Runs all cases, `together` of them at the same time, with an assertion for each. */
void cases_check(const struct case_row *cases, size_t count, size_t together);

/* What a child has exited with; -1 if it was ended by a signal, or is none. */
int exit_status(pid_t child);
int ended_well(pid_t child);

/*
 * Runs this program again, as case_begin() begins it, up to its end. What it has written to the
 * descriptor, for the caller to close; *status is its exit_status().
 */
TAP_PRINTF(5, 6)
FILE *case_hear(int descriptor, int *status, const char *settings, const char *emulator,
                const char *format, ...);

#endif
