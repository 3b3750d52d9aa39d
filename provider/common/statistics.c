/*
 * What was done where.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/statistics.h"

#include <inttypes.h>
#include <openssl/params.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "cuda/gpuaes.h"
#include "provider/common/offload.h"

static _Atomic uint64_t cpu_bytes[CPU_REASONS];
static _Atomic pid_t printing_process; /* 0: nobody prints */
static atomic_uint generation;         /* forks between the process that loaded us and this one */

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
    (void)totals_forget(totals);
    for (int reason = 0; reason < CPU_REASONS; reason++)
        statistics_add((enum cpu_reason)reason, totals->cpu_bytes[reason]);
    totals_begin(totals);
}

/* ---- The process --------------------------------------------------------------------------- */

enum figure {
#define FIGURE(NAME, name) NAME,
    STATISTICS_FIGURES(FIGURE)
#undef FIGURE
        FIGURES
};

static const char *const names[FIGURES] = {
#define FIGURE_NAME(NAME, name) name,
    STATISTICS_FIGURES(FIGURE_NAME)
#undef FIGURE_NAME
};

/* A name has at most 24 characters, and a figure 20. */
enum { LINE_SIZE = 48 * (FIGURES + 2) };

static void collect(uint64_t figures[FIGURES])
{
    struct gpuaes_statistics s;
    gpuaes_get_statistics(&s);
    figures[GPU_BYTES] = s.bytes;
    figures[CPU_BYTES] = 0;
    for (int reason = 0; reason < CPU_REASONS; reason++) {
        figures[CPU_BYTES_SMALL + reason] = atomic_load(&cpu_bytes[reason]);
        figures[CPU_BYTES] += figures[CPU_BYTES_SMALL + reason];
    }
    figures[READ_AHEAD_BYTES] = s.read_ahead_bytes;
    figures[UNDERRUNS] = s.underruns;
    figures[LAUNCHES] = s.launches;
    figures[FAULTS] = s.faults;
    figures[START_MS] = s.start_ms;
    figures[PINNED_BYTES] = s.pinned_bytes;
    figures[PINNED_PEAK] = s.pinned_peak;
}

int statistics_get(OSSL_PARAM params[])
{
    uint64_t figures[FIGURES];
    OSSL_PARAM *p = OSSL_PARAM_locate(params, STATISTICS_DEVICES);
    unsigned devices = 0;
    while (p != NULL && offload_device(devices) >= 0)
        devices++;
    if (p != NULL && !OSSL_PARAM_set_uint64(p, devices))
        return 0;
    collect(figures);
    for (int i = 0; i < FIGURES; i++) {
        p = OSSL_PARAM_locate(params, names[i]);
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
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, begin_child);
}

void statistics_begin(int summary)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pid_t nobody = 0;
    (void)pthread_once(&once, watch_forks);
    if (summary)
        (void)atomic_compare_exchange_strong(&printing_process, &nobody, getpid());
}

/* The process that asked; and each child of it that worked, so that servers show it. */
static int prints(const uint64_t f[FIGURES])
{
    pid_t printing = atomic_load(&printing_process);
    if (printing == 0 || printing == getpid())
        return printing != 0;
    return atomic_load(&generation) != 0 && f[GPU_BYTES] + f[CPU_BYTES] + f[READ_AHEAD_BYTES] != 0;
}

/* A broken pipe, or a limit such as sshd puts on its children, must not end them. */
static void ignore_what_writing_raises(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGPIPE);
    (void)sigaddset(&signals, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

/*
 * Runs when the process exits; makes no CUDA call. The line is one write, since
 * workers of a server end together.
 */
__attribute__((destructor)) static void print_summary(void)
{
    uint64_t f[FIGURES];
    collect(f);
    if (!prints(f))
        return;
    ignore_what_writing_raises();
    char line[LINE_SIZE];
    uint64_t all = 0;
    for (int i = 0; i < FIGURES; i++)
        all |= f[i];
    int n =
        snprintf(line, sizeof line, "gpuaes: summary%s",
                 all == 0 ? " nothing was used: no update of 1 KiB or more came to gpuaes" : "");
    for (int i = 0; i < FIGURES && all != 0; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %s=%" PRIu64, names[i], f[i]);
    (void)snprintf(line + n, sizeof line - (size_t)n, " pid=%ld\n", (long)getpid());
    (void)fputs(line, stderr);
}
