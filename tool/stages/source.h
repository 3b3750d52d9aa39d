/*
 * Where a stream comes from: a file, of which several threads read at once, or
 * something that can only be read from the beginning to the end.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_SOURCE_H
#define GPUAES_TOOL_STAGES_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "tool/pipeline/pipeline.h"

enum { SOURCE_PEEK = 4096 };

struct source {
    int fd;
    const char *name; /* for messages */
    int seekable;
    uint64_t file_size;
    uint64_t begin; /* in the file: where the stream begins, where it is seekable */
    uint64_t size;  /* from there to the end of the file; UINT64_MAX if unknown */
    uint64_t limit; /* of what is read; UINT64_MAX: to the end */
    size_t piece;   /* bytes of a piece */
    size_t lead;    /* so many fewer has the first one */
    _Atomic uint64_t done;

    unsigned char peeked[SOURCE_PEEK];
    size_t peek_at, peek_bytes;
    uint64_t taken;
    int ended;
};

/* Opens a file; NULL or "-" is stdin. 1, or 0 with errno set. */
int source_open(struct source *source, const char *path);

/* The stream begins where the file is read next: a password may have come before. As above. */
int source_begin(struct source *source);

void source_close(struct source *source);

/*
 * The next `bytes`, at most SOURCE_PEEK, which stay unread; fewer where the stream ends
 * before. -1 on an error, with errno set.
 */
long source_peek(struct source *source, const unsigned char **data, size_t bytes);

/* Passes over some bytes: 1, 0 where the stream ends before, -1 on an error. */
int source_skip(struct source *source, uint64_t bytes);

/* Bytes that all pieces together will have; UINT64_MAX if that is unknown. */
uint64_t source_expected(const struct source *source);

/* How many pieces there are at most. */
uint64_t source_pieces(const struct source *source);

/* The stage that reads a piece. Ordered, unless the source is seekable. */
stage_fn source_read;

#endif
