/*
 * A stream from a file or pipe, through the stages of a subcommand, to another one; with a progress
 * line on the terminal.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMANDS_STREAM_H
#define GPUAES_TOOL_COMMANDS_STREAM_H

#include "tool/pipeline/pipeline.h"
#include "tool/stages/output.h"
#include "tool/stages/source.h"

struct stream {
    struct source source;
    struct output output;
    struct pipeline pipeline;
};

/*
 * AUTO: where stderr is a terminal with this process in its foreground, and the output is no
 * terminal, whose text the line would be mixed with.
 */
enum progress_wish { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

/*
 * Adds the stage that reads from the source, which is open. Pieces are multiples of `unit`, of
 * about so many bytes; 0: by default, as with threads.
 */
void stream_begin(struct stream *stream, uint64_t piece, size_t unit, uint64_t threads);

/*
 * Adds the stages that write to the output, which is open, and runs all of them. Then the output
 * is complete, or abandoned. Returns 1, or 0 after a complaint.
 */
int stream_run(struct stream *stream, int progress_wish);

/* Takes one of which nothing, or not all, was opened. */
void stream_close(struct stream *stream);

#endif
