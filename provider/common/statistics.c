/*
 * What was done where.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/statistics.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/params.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda/gpuaes.h"

static _Atomic uint64_t cpu_bytes[CPU_REASONS];
static _Atomic pid_t printing_process; /* 0: nobody prints */
static atomic_uint generation;         /* forks between the process that loaded us and this one */

/* What the last line said while the process worked. */
static struct {
    atomic_int wanted;
    atomic_flag busy; /* a thread prints: others go on */
    _Atomic int64_t at;
    _Atomic uint64_t sum;
    atomic_uint kinds; /* a bit for each of the figures below that were above 0 */
} told = {.busy = ATOMIC_FLAG_INIT};

/* ---- Contexts ------------------------------------------------------------------------------ */

void totals_begin(struct totals *totals)
{
    *totals = (struct totals){.generation = atomic_load(&generation)};
}

int totals_forget(struct totals *totals)
{
    int is_parents = totals->generation != atomic_load(&generation);
    if (is_parents)
        totals_begin(totals);
    return is_parents;
}

void statistics_add(enum cpu_reason reason, uint64_t bytes)
{
    if (bytes != 0)
        atomic_fetch_add_explicit(&cpu_bytes[reason], bytes, memory_order_relaxed);
}

void totals_flush(struct totals *totals)
{
    uint64_t any = 0;
    (void)totals_forget(totals);
    for (int reason = 0; reason < CPU_REASONS; reason++)
        any |= totals->cpu_bytes[reason];
    if (any == 0) /* as in short messages, in which the rest would show */
        return;
    for (int reason = 0; reason < CPU_REASONS; reason++)
        statistics_add((enum cpu_reason)reason, totals->cpu_bytes[reason]);
    totals_begin(totals);
    statistics_tell();
}

/* ---- The process --------------------------------------------------------------------------- */

enum figure {
#define FIGURE(NAME, name, value) NAME,
    STATISTICS_FIGURES(FIGURE)
#undef FIGURE
        FIGURES
};

static const char *const names[FIGURES] = {
#define FIGURE_NAME(NAME, name, value) name,
    STATISTICS_FIGURES(FIGURE_NAME)
#undef FIGURE_NAME
};

/* A name has at most 24 characters, and a figure 20. */
enum { LINE_SIZE = 48 * (FIGURES + 2) };

static void collect(uint64_t figures[FIGURES])
{
    struct gpuaes_statistics s = {.struct_bytes = sizeof s};
    uint64_t cpu[CPU_REASONS + 1] = {0};
    gpuaes_get_statistics(&s);
    for (int reason = 0; reason < CPU_REASONS; reason++) {
        cpu[reason] = atomic_load(&cpu_bytes[reason]);
        cpu[CPU_REASONS] += cpu[reason];
    }
#define FIGURE_VALUE(NAME, name, value) figures[NAME] = value;
    STATISTICS_FIGURES(FIGURE_VALUE)
#undef FIGURE_VALUE
}

int statistics_get(OSSL_PARAM params[])
{
    uint64_t figures[FIGURES];
    collect(figures);
    for (int i = 0; i < FIGURES; i++) {
        OSSL_PARAM *p = OSSL_PARAM_locate(params, names[i]);
        if (p != NULL && !OSSL_PARAM_set_uint64(p, figures[i]))
            return 0;
    }
    return 1;
}

/* A child's figures are its own: libgpuaes has reset its part already. */
static void begin_child(void)
{
    atomic_fetch_add(&generation, 1);
    for (int reason = 0; reason < CPU_REASONS; reason++)
        atomic_store(&cpu_bytes[reason], 0);
    atomic_flag_clear(&told.busy);
    atomic_store(&told.at, 0);
    atomic_store(&told.sum, 0);
    atomic_store(&told.kinds, 0);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, begin_child);
}

void statistics_begin(int summary, int progress)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pid_t nobody = 0;
    (void)pthread_once(&once, watch_forks);
    if (summary)
        (void)atomic_compare_exchange_strong(&printing_process, &nobody, getpid());
    if (progress)
        atomic_store(&told.wanted, 1);
}

/* The process that asked; and each child of it that worked, so that servers show it. */
static int prints(const uint64_t f[FIGURES])
{
    pid_t printing = atomic_load(&printing_process);
    if (printing == 0 || printing == getpid())
        return printing != 0;
    return atomic_load(&generation) != 0 && f[GPU_BYTES] + f[CPU_BYTES] + f[READ_AHEAD_BYTES] != 0;
}

/*
 * One write, since workers of a server write together. A broken pipe, or a limit on files such as
 * sshd puts on its children, must not end the process: what writing raises is taken away.
 */
static void say(const char *line, size_t bytes, int is_last)
{
    static const int raised[] = {SIGPIPE, SIGXFSZ};
    sigset_t signals, before, pending;
    (void)sigemptyset(&signals);
    (void)sigemptyset(&pending);
    if (!is_last)
        (void)sigpending(&pending);
    for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++)
        if (!sigismember(&pending, raised[i]))
            (void)sigaddset(&signals, raised[i]);
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
    int failed = write(STDERR_FILENO, line, bytes) < 0;
    if (is_last)
        return;
    if (failed && (errno == EPIPE || errno == EFBIG))
        (void)sigtimedwait(&signals, NULL, &(struct timespec){0, 0});
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void print(const char *what, const uint64_t f[FIGURES], int is_last)
{
    char line[LINE_SIZE];
    uint64_t all = 0;
    for (int i = 0; i < FIGURES; i++)
        all |= f[i];
    int n =
        snprintf(line, sizeof line, "gpuaes: %s%s", what,
                 all == 0 ? " nothing was done: gpuaes finished no update of 1 KiB or more" : "");
    for (int i = 0; i < FIGURES && all != 0; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %s=%" PRIu64, names[i], f[i]);
    n += snprintf(line + n, sizeof line - (size_t)n, " pid=%ld\n", (long)getpid());
    say(line, (size_t)n, is_last);
}

/*
 * Runs when the process exits; makes no CUDA call. What writing raises stays blocked, not taken
 * away: the filter of sshd's child before login ends it at sigpending() and sigtimedwait().
 */
__attribute__((destructor)) static void print_summary(void)
{
    uint64_t f[FIGURES];
    collect(f);
    if (prints(f))
        print("summary", f, 1);
}

/* ---- While it works ------------------------------------------------------------------------ */

__attribute__((noinline)) static void tell(void)
{
    static const enum figure kinds[] = {GPU_BYTES, CPU_BYTES, READ_AHEAD_BYTES, FAULTS};
    const int64_t second = 1000000000;
    uint64_t f[FIGURES], sum = 0;
    unsigned above = 0;
    int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
    collect(f);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        sum += f[kinds[i]];
        above |= (unsigned)(f[kinds[i]] != 0) << i;
    }
    int is_new = (above & ~atomic_load(&told.kinds)) != 0;
    if (sum == atomic_load(&told.sum) || (!is_new && now - atomic_load(&told.at) < second) ||
        !prints(f) || atomic_flag_test_and_set(&told.busy))
        return;
    int before = errno;
    print("progress", f, 0);
    errno = before;
    atomic_store(&told.at, now);
    atomic_store(&told.sum, sum);
    atomic_store(&told.kinds, above);
    atomic_flag_clear(&told.busy);
}

void statistics_tell(void)
{
    if (__builtin_expect(atomic_load_explicit(&told.wanted, memory_order_relaxed), 0))
        tell();
}
