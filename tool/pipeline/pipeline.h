/*
 * Pieces of a stream, worked on by several threads that are all alike: each takes the
 * next piece through all stages, from reading to writing, while the others are at
 * other stages of theirs. A stage that is `ordered` is passed by one piece at a time,
 * in the order of the stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_PIPELINE_PIPELINE_H
#define GPUAES_TOOL_PIPELINE_PIPELINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { PIPELINE_STAGES = 8, PIPELINE_THREADS = 64, PIECE_HEADROOM = 64, PIECE_ERROR = 300 };

struct piece {
    uint64_t number; /* in the stream, from 0 */
    unsigned thread; /* that works on it, from 0 */
    int absent;      /* the stream ends before it; there are no further stages */
    int last;        /* of this run */
    int ends;        /* the last, and where the input ends, too */
    int broken;      /* invalid input follows: write this, then fail */

    unsigned char *data; /* in one of the buffers */
    size_t bytes;
    uint64_t to; /* where it goes in the output */

    uint64_t position;        /* in the data that is encrypted */
    unsigned char before[16]; /* the block of ciphertext before it */

    unsigned char *buffers[2]; /* with PIECE_HEADROOM before them */
    unsigned current;          /* that of `data` */
    char error[PIECE_ERROR];
};

/* The first returns the buffer that has no data; the second makes it the one with the data. */
unsigned char *piece_spare(const struct piece *piece);
void piece_use_spare(struct piece *piece, size_t bytes);

/* For a stage: says what went wrong, and returns 0. */
int piece_fail(struct piece *piece, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef int stage_fn(void *context, struct piece *piece);

/* In any order; one piece after the other. */
enum stage_kind { STAGE_UNORDERED, STAGE_ORDERED };

struct stage {
    stage_fn *run; /* returns 0 on failure, which ends the pipeline */
    void *context;
    enum stage_kind kind;
};

struct pipeline {
    struct stage stages[PIPELINE_STAGES];
    unsigned count;
    unsigned threads;
    size_t capacity; /* of a buffer */

    /* The rest is the pipeline's own. */
    _Atomic uint64_t next;
    atomic_uint begun; /* threads */
    pthread_mutex_t lock;
    pthread_cond_t passed[PIPELINE_STAGES];
    uint64_t turn[PIPELINE_STAGES];
    int failed;
    char error[PIECE_ERROR];
};

/* How many threads there can be for so many pieces: as many as CPUs, 8 at most. */
unsigned pipeline_threads(uint64_t pieces);

void pipeline_add(struct pipeline *pipeline, stage_fn *run, void *context, enum stage_kind kind);

/*
 * Runs all pieces; calls `tick` some times a second meanwhile. Returns 1, or 0 with what went wrong
 * in pipeline->error.
 */
int pipeline_run(struct pipeline *pipeline, void (*tick)(void *context), void *context);

#endif
