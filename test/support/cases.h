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

/* As case_begin() has it; `output` takes the place of the descriptor, or NULL of none. */
TAP_PRINTF(5, 0)
static inline pid_t case_fork(FILE *output, int descriptor, const char *settings,
                              const char *emulator, const char *format, va_list arguments)
{
    char text[CASE_TEXT], *words = text, *argv[CASE_ARGUMENTS + 2] = {program_invocation_name};
    vsnprintf(text, sizeof text, format, arguments);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        perror("# fork");
    if (child != 0)
        return child;
    if (output != NULL)
        dup2(fileno(output), descriptor);
    application_environment(settings);
    if (emulator != NULL)
        setenv("GPUAES_EMULATOR", emulator, 1);
    for (int i = 1; i <= CASE_ARGUMENTS; i++)
        argv[i] = strsep(&words, " ");
    execv("/proc/self/exe", argv);
    _exit(127);
}

/*
 * Begins this program again; -1 if there can be no process. The words of the format, one space
 * between them, are its arguments; `settings` are as application_environment() has them, and
 * `emulator` is its GPUAES_EMULATOR. NULL: as they are here.
 */
TAP_PRINTF(3, 4)
static inline pid_t case_begin(const char *settings, const char *emulator, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pid_t child = case_fork(NULL, -1, settings, emulator, format, arguments);
    va_end(arguments);
    return child;
}

/* The case that this process is, with the providers loaded; 0 if it is right within the seconds. */
static inline int case_run(int (*run)(void), struct providers *p, unsigned seconds)
{
    alarm(seconds);
    *p = providers_load();
    int right = run();
    providers_unload(p);
    return !right;
}

/* What a child has exited with; -1 if it was ended by a signal, or is none. */
static inline int exit_status(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "# ended by signal %d%s\n", WTERMSIG(status),
                WTERMSIG(status) == SIGALRM ? ": hung" : "");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int ended_well(pid_t child)
{
    int status = exit_status(child);
    if (status > 0)
        fprintf(stderr, "# a child ended with status %d\n", status);
    return status == 0;
}

/*
 * Runs this program again, as case_begin() begins it, up to its end. What it has written to the
 * descriptor, for the caller to close; *status is its exit_status().
 */
TAP_PRINTF(5, 6)
static inline FILE *case_hear(int descriptor, int *status, const char *settings,
                              const char *emulator, const char *format, ...)
{
    FILE *output = tmpfile();
    va_list arguments;
    if (output == NULL) {
        perror("# tmpfile");
        abort();
    }
    va_start(arguments, format);
    *status = exit_status(case_fork(output, descriptor, settings, emulator, format, arguments));
    va_end(arguments);
    rewind(output);
    return output;
}

#endif
