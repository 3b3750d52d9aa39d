/*
 * A file on tmpfs that is written by mapping it, several threads at once.
 *
 * write() adds pages to a file one at a time under one lock, and threads that map it meet at
 * the same lock for each page of 4 KiB. So extents are made huge pages first, by MADV_COLLAPSE
 * (Linux 6.1), which no mount option is needed for: see docs/decisions/writing-files.md.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_MAPPED_H
#define GPUAES_TOOL_STAGES_MAPPED_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { MAPPED_EXTENTS = 256 };

struct mapped {
    int fd;
    int seen;               /* others see the file while it is written */
    _Atomic uint64_t grown; /* what ends here or before is part of it */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    uint64_t extents[MAPPED_EXTENTS]; /* what was last done for those of this number, modulo */
    unsigned hindrance;               /* from some value on it gets no huge pages any more */
};

/* `fd` must be open for reading and writing once it is written. 0 where it is not on tmpfs. */
int mapped_open(struct mapped *file, int fd, int seen);

/* Makes the file so long that what ends here can be written; one thread at a time. 0: it failed. */
int mapped_grow(struct mapped *file, uint64_t end);

/* Any thread, below what it has grown to. 0 where write() has to do it, or to say what is wrong. */
int mapped_write(struct mapped *file, const unsigned char *data, size_t bytes, uint64_t at);

/* Cuts off what it has grown too much behind this end, unless others see it. 0 on an error, with
 * errno set. */
int mapped_cut(const struct mapped *file, uint64_t end);

#endif
