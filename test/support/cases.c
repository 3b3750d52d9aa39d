/*
 * Cases that are runs of the test's program of their own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"

enum { CANNOT = 77, TOGETHER_MOST = 32 };

/* As case_begin() has it; `output` takes the place of the descriptor, or NULL of none. */
TAP_PRINTF(5, 0)
static pid_t case_fork(FILE *output, int descriptor, const char *settings, const char *emulator,
                       const char *format, va_list arguments)
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

pid_t case_begin(const char *settings, const char *emulator, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pid_t child = case_fork(NULL, -1, settings, emulator, format, arguments);
    va_end(arguments);
    return child;
}

int case_run(int (*run)(void), unsigned seconds)
{
    alarm(seconds);
    test_providers = providers_load();
    int right = run();
    providers_unload(&test_providers);
    return right < 0 ? CANNOT : !right;
}

int case_named(const char *number, const struct case_row *cases)
{
    return case_run(cases[strtoul(number, NULL, 10)].run, 900);
}

void cases_check(const struct case_row *cases, size_t count, size_t together)
{
    pid_t children[TOGETHER_MOST] = {0};
    for (size_t i = 0; i < count + together; i++) {
        if (i >= together) {
            const char *name = cases[i - together].name;
            int status = exit_status(children[(i - together) % TOGETHER_MOST]);
            if (status == CANNOT)
                tap_skip("%s: it cannot be tried here", name);
            else if (!tap_ok(status == 0, "%s", name))
                tap_diag("status %d", status);
        }
        if (i < count)
            children[i % TOGETHER_MOST] =
                case_begin(cases[i].settings, cases[i].emulator, "%zu", i);
    }
}

int exit_status(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "# ended by signal %d%s\n", WTERMSIG(status),
                WTERMSIG(status) == SIGALRM ? ": hung" : "");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int ended_well(pid_t child)
{
    int status = exit_status(child);
    if (status > 0)
        fprintf(stderr, "# a child ended with status %d\n", status);
    return status == 0;
}

FILE *case_hear(int descriptor, int *status, const char *settings, const char *emulator,
                const char *format, ...)
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
