/*
 * A stream through the stages of a subcommand, and a line on the terminal that says how far it is.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/commands/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/common/message.h"

enum { PIECE = 2 << 20 };

/* What is over so soon needs no line. */
static const double delay = 0.5;

struct progress {
    const struct source *source;
    double begun;
    int shown, drawn; /* draw at all; a line was */
    int sums_up;      /* a line was drawn, or is always wanted */
};

/* Messages go to the file of the output, where a line would lie over what pwrite() wrote. */
static int draws_over(const struct output *output)
{
    struct stat to, message;
    return output->seekable && fstat(output->fd, &to) == 0 && fstat(STDERR_FILENO, &message) == 0 &&
           to.st_dev == message.st_dev && to.st_ino == message.st_ino;
}

static struct progress progress_begin(const struct stream *stream, int wish)
{
    return (struct progress){
        .source = &stream->source,
        .begun = clock_seconds(CLOCK_MONOTONIC),
        .shown = (wish == PROGRESS_ALWAYS && !draws_over(&stream->output)) ||
                 (wish == PROGRESS_AUTO && isatty(STDERR_FILENO) && !isatty(stream->output.fd) &&
                  tcgetpgrp(STDERR_FILENO) == getpgrp()),
        .sums_up = wish == PROGRESS_ALWAYS,
    };
}

static void progress_tick(void *argument)
{
    struct progress *progress = argument;
    struct winsize size;
    char line[100];
    double seconds = clock_seconds(CLOCK_MONOTONIC) - progress->begun;
    double done = (double)progress->source->done, rate = done / seconds;
    uint64_t total = source_expected(progress->source);
    if (!progress->shown || seconds < delay)
        return;
    int end = snprintf(line, sizeof line, "%8.2f GB %6.2f GB/s", done / 1e9, rate / 1e9);
    if (total != UINT64_MAX && total != 0 && rate > 0) {
        double left = ((double)total - done) / rate;
        unsigned long s = left < 359999 ? (unsigned long)(left + 0.5) : 359999;
        (void)snprintf(line + end, sizeof line - (size_t)end, " %3.0f %% %lu:%02lu:%02lu left",
                       100 * done / (double)total, s / 3600, s / 60 % 60, s % 60);
    }
    /* What goes on in the next line would stay there. */
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    (void)fprintf(stderr, "\r\033[K%.*s", columns != 0 ? columns - 1 : 79, line);
    (void)fflush(stderr);
    progress->drawn = progress->sums_up = 1;
}

static void progress_end(const struct progress *progress, int ok)
{
    double seconds = clock_seconds(CLOCK_MONOTONIC) - progress->begun;
    uint64_t done = progress->source->done;
    if (progress->drawn)
        (void)fputs("\r\033[K", stderr);
    if (progress->sums_up && ok)
        (void)fprintf(stderr, "%" PRIu64 " bytes in %.2f s, %.2f GB/s\n", done, seconds,
                      (double)done / 1e9 / seconds);
}

void stream_begin(struct stream *stream, uint64_t piece, size_t unit, uint64_t threads)
{
    struct pipeline *pipeline = &stream->pipeline;
    piece = piece != 0 ? piece : PIECE;
    stream->source.piece = piece < unit ? unit : (size_t)piece / unit * unit;
    pipeline->threads = (unsigned)threads;
    if (threads == 0)
        pipeline->threads = pipeline_threads(source_pieces(&stream->source));
    pipeline_add(pipeline, source_read, &stream->source,
                 stream->source.seekable ? STAGE_UNORDERED : STAGE_ORDERED);
}

int stream_run(struct stream *stream, int progress_wish)
{
    struct pipeline *pipeline = &stream->pipeline;
    struct output *output = &stream->output;
    pipeline_add(pipeline, output_place, output, STAGE_ORDERED);
    pipeline_add(pipeline, output_write, output, STAGE_UNORDERED);
    struct progress progress = progress_begin(stream, progress_wish);
    int ok = pipeline_run(pipeline, progress_tick, &progress);
    if (ok && !output_commit(output)) {
        ok = 0;
        (void)snprintf(pipeline->error, sizeof pipeline->error, "%s: %s", output->name,
                       strerror(errno));
    }
    if (!ok)
        output_abandon(output);
    progress_end(&progress, ok);
    return ok || complain("%s", pipeline->error);
}

void stream_close(struct stream *stream)
{
    if (stream->source.name != NULL)
        source_close(&stream->source);
}
