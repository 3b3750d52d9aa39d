/*
 * Forked children that AddressSanitizer stops for ever.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/asan_forks.h"

#if defined(__SANITIZE_ADDRESS__)
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

void __asan_init(void);

/* So many looks in a row must find a child where the look before did. They follow each other
   quickly: the child sleeps, but the threads of its parent work until it ends. */
enum { SAME = 3 };

static struct asan_forks {
    uintptr_t begin, end; /* the sanitizer's code */
    uintptr_t at, stack;  /* where the child was seen last */
    int times;
    const char *log;
} asan_forks;

/* 1 if it was found. */
static int asan_forks_find(void)
{
    const uintptr_t known = (uintptr_t)&__asan_init;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int found = 0;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        char *end;
        asan_forks.begin = strtoull(line, &end, 16);
        asan_forks.end = strtoull(end + 1, NULL, 16);
        found = known >= asan_forks.begin && known < asan_forks.end;
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void asan_forks_look(int number, siginfo_t *info, void *context)
{
    static const char says[] = "a child waits for a lock of AddressSanitizer\n";
    const ucontext_t *interrupted = context;
    (void)number;
    (void)info;
#if defined(__x86_64__)
    enum { RSP = 15, RIP = 16 }; /* <sys/ucontext.h> names them under _GNU_SOURCE only */
    uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[RIP];
    uintptr_t stack = (uintptr_t)interrupted->uc_mcontext.gregs[RSP];
#else
    uintptr_t at = interrupted->uc_mcontext.pc, stack = interrupted->uc_mcontext.sp;
#endif
    int same = at == asan_forks.at && stack == asan_forks.stack && at >= asan_forks.begin &&
               at < asan_forks.end;
    asan_forks.times = same ? asan_forks.times + 1 : 0;
    asan_forks.at = at;
    asan_forks.stack = stack;
    if (asan_forks.times < SAME)
        return;
    int log = asan_forks.log != NULL ? open(asan_forks.log, O_WRONLY | O_CREAT | O_APPEND, 0600)
                                     : STDERR_FILENO;
    (void)!write(log, says, sizeof says - 1);
    (void)raise(SIGKILL);
}

/* A timer of the kernel's, which allocates nothing here and does not outlive an exec(). */
static void asan_forks_child(void)
{
    struct sigaction action = {.sa_sigaction = asan_forks_look,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX};
    struct itimerspec looks = {.it_value = {.tv_nsec = 500000000},
                               .it_interval = {.tv_nsec = 250000000}};
    int timer;
    asan_forks.times = 0;
    if (sigaction(SIGRTMAX, &action, NULL) == 0 &&
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0)
        (void)syscall(SYS_timer_settime, timer, 0, &looks, NULL);
}

void asan_forks_watch(void)
{
    asan_forks.log = getenv("GPUAES_TEST_FORKS");
    if (asan_forks_find())
        (void)pthread_atfork(NULL, NULL, asan_forks_child);
}

void asan_forks_look_away(void)
{
    (void)signal(SIGRTMAX, SIG_IGN);
}

#else

void asan_forks_watch(void)
{
}

void asan_forks_look_away(void)
{
}

#endif
