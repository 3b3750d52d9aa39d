/*
 * A progress line on the terminal: rate, and time left.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMANDS_PROGRESS_H
#define GPUAES_TOOL_COMMANDS_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

struct progress {
    const _Atomic uint64_t *done;
    uint64_t total; /* UINT64_MAX: unknown */
    int shown;      /* draw at all */
    double begun, drawn_at;
    uint64_t drawn_done;
    double rate; /* bytes a second, smoothed */
    int drawn;   /* there is a line to be removed */
    int sums_up; /* a line was drawn, or is always wanted */
};

enum progress_wish { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

/*
 * AUTO: where stderr is a terminal with this process in its foreground, and `out` is no terminal,
 * whose text the line would be mixed with.
 */
void progress_begin(struct progress *progress, enum progress_wish wish,
                    const _Atomic uint64_t *done, uint64_t total, int out);

/* To be called some times a second; the argument is the struct progress. */
void progress_tick(void *progress);

/* Removes the line. */
void progress_end(struct progress *progress);

/* Prints bytes, seconds and rate, where the line was shown or asked for. */
void progress_summary(const struct progress *progress);

#endif
