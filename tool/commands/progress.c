/*
 * A line on the terminal that says how far it is.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/commands/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

/* What is over so soon needs no line. */
static const double delay = 0.5;

void progress_begin(struct progress *progress, enum progress_wish wish,
                    const _Atomic uint64_t *done, uint64_t total, int out)
{
    *progress = (struct progress){.done = done, .total = total};
    progress->sums_up = wish == PROGRESS_ALWAYS;
    progress->shown = progress->sums_up || (wish == PROGRESS_AUTO && isatty(STDERR_FILENO) &&
                                            !isatty(out) && tcgetpgrp(STDERR_FILENO) == getpgrp());
    progress->begun = progress->drawn_at = clock_seconds(CLOCK_MONOTONIC);
}

static void measure_rate(struct progress *progress, double at, uint64_t done)
{
    double rate = (double)(done - progress->drawn_done) / (at - progress->drawn_at);
    progress->rate = progress->rate > 0 ? 0.7 * progress->rate + 0.3 * rate : rate;
    progress->drawn_at = at;
    progress->drawn_done = done;
}

static int columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

static void add_bar(char *line, size_t capacity, double part, int width)
{
    char bar[101];
    int cells = width < 100 ? width : 100;
    for (int i = 0; i < cells; i++)
        bar[i] = i < part * cells ? '#' : '-';
    bar[cells] = '\0';
    (void)snprintf(line, capacity, " [%s]", bar);
}

static void add_part(char *line, size_t capacity, double part, double seconds)
{
    unsigned long s = seconds < 359999 ? (unsigned long)(seconds + 0.5) : 359999;
    (void)snprintf(line, capacity, " %3.0f %% %lu:%02lu:%02lu left", 100 * part, s / 3600,
                   s / 60 % 60, s % 60);
}

void progress_tick(void *argument)
{
    struct progress *progress = argument;
    char line[200];
    size_t end;
    double at = clock_seconds(CLOCK_MONOTONIC);
    uint64_t done = *progress->done, total = progress->total;
    int width = columns();
    if (!progress->shown || at - progress->begun < delay)
        return;
    measure_rate(progress, at, done);
    (void)snprintf(line, sizeof line, "%8.2f GB %6.2f GB/s", (double)done / 1e9,
                   progress->rate / 1e9);
    if (total != UINT64_MAX && total != 0 && progress->rate > 0) {
        double part = (double)done / (double)total;
        end = strlen(line);
        add_part(line + end, sizeof line - end, part, (double)(total - done) / progress->rate);
        end = strlen(line);
        if (width > 54)
            add_bar(line + end, sizeof line - end, part, width - 50);
    }
    /* What goes on in the next line would stay there. */
    (void)fprintf(stderr, "\r\033[K%.*s", width - 1, line);
    (void)fflush(stderr);
    progress->drawn = progress->sums_up = 1;
}

void progress_end(struct progress *progress)
{
    if (progress->drawn)
        (void)fputs("\r\033[K", stderr);
    progress->drawn = 0;
}

void progress_summary(const struct progress *progress)
{
    double seconds = clock_seconds(CLOCK_MONOTONIC) - progress->begun;
    uint64_t done = *progress->done;
    if (progress->sums_up)
        (void)fprintf(stderr, "%llu bytes in %.2f s, %.2f GB/s\n", (unsigned long long)done,
                      seconds, seconds > 0 ? (double)done / 1e9 / seconds : 0);
}
