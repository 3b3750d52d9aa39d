/*
 * Memory of each kind, filled with what no one can foretell: a GPU takes more
 * power, and so runs slower, where bits change.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_BUFFERS_H
#define GPUAES_BENCH_BUFFERS_H

#include <stddef.h>

enum kind {
    PAGEABLE,
    PINNED,      /* by gpuaes_pinned_alloc() */
    DEVICE,      /* of the current context of the thread; see card.h */
    REGISTERED,  /* pageable memory, by gpuaes_pinned_register() */
    HUGE_PAGES,  /* the same, of transparent huge pages */
    INTERLEAVED, /* the same, its pages spread over the nodes of the machine */
    KINDS
};

const char *kind_name(enum kind kind);

struct buffer {
    enum kind kind;
    unsigned char *p; /* NULL: there is none to be had */
    size_t bytes;
};

struct buffer buffer_take(enum kind kind, size_t bytes);

/* Gives back what buffer_take() gave, also nothing. */
void buffer_give(struct buffer *buffer);

/* Input and output of one kind. */
struct memory {
    struct buffer in, out;
};

/* Takes so many bytes of each; returns 1, or 0 where there are not so many, which it says of
 * `part`.
 */
int memory_take(struct memory *memory, const char *part, enum kind kind, size_t in, size_t out);
void memory_give(struct memory *memory);

/* Nodes of the machine's memory. */
unsigned memory_nodes(void);

#endif
