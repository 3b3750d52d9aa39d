/*
 * Where a stream goes to. A file appears under its name when it is complete and not
 * before: see replacement.h. What is no regular file is written directly, and so is what
 * somebody has opened already, as /dev/fd/N names it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_OUTPUT_H
#define GPUAES_TOOL_STAGES_OUTPUT_H

#include <stdint.h>

#include "tool/pipeline/pipeline.h"
#include "tool/stages/mapped.h"
#include "tool/stages/replacement.h"

struct output {
    int fd;
    const char *name;      /* for messages */
    const char *hindrance; /* what could not be done, if that is not to open it; or "" */
    int is_stdout;
    struct replacement
        replacement;          /* where it has a folder: the file is made there, to be renamed */
    int seekable;             /* several threads may write at once */
    _Atomic int maps;         /* it is written by mapping it */
    struct mapped mapped;     /* then */
    int sync;                 /* to the disk, before it gets its name */
    uint64_t begin, position; /* where the stream begins in the file, and its next piece in that */
};

/*
 * Opens a file; NULL or "-" is stdout. With `keeps`, a regular file that exists is EEXIST. 1, or 0
 * with errno set.
 */
int output_open(struct output *output, const char *path, int keeps, int sync);

/* The stages that find a piece's place, which is ordered, and write it, which is not. */
stage_fn output_place;
stage_fn output_write;

/* Makes the file appear; 1, or 0 with errno set. */
int output_commit(struct output *output);

/*
 * Undoes the output as far as that can be, and moves the position of standard output behind what
 * was written. Call it before a message is printed, which may go to the same file.
 */
void output_abandon(struct output *output);

#endif
