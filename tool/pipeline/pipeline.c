/*
 * Pieces of a stream, worked on by several threads.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/pipeline/pipeline.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/minmax.h"

enum { THREADS_BY_DEFAULT = 8, TICK_NS = 200000000 };

unsigned char *piece_spare(const struct piece *piece)
{
    return piece->buffers[!piece->current];
}

void piece_use_spare(struct piece *piece, size_t bytes)
{
    piece->current = !piece->current;
    piece->data = piece->buffers[piece->current];
    piece->bytes = bytes;
}

int piece_fail(struct piece *piece, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(piece->error, sizeof piece->error, format, arguments);
    va_end(arguments);
    return 0;
}

static void fail(struct pipeline *pipeline, const char *error)
{
    (void)pthread_mutex_lock(&pipeline->lock);
    if (!pipeline->failed)
        (void)snprintf(pipeline->error, sizeof pipeline->error, "%s", error);
    pipeline->failed = 1;
    for (unsigned i = 0; i < pipeline->count; i++)
        (void)pthread_cond_broadcast(&pipeline->passed[i]);
    (void)pthread_mutex_unlock(&pipeline->lock);
}

static int wait_turn(struct pipeline *pipeline, unsigned stage, uint64_t number)
{
    (void)pthread_mutex_lock(&pipeline->lock);
    while (pipeline->turn[stage] != number && !pipeline->failed)
        (void)pthread_cond_wait(&pipeline->passed[stage], &pipeline->lock);
    int ok = !pipeline->failed;
    (void)pthread_mutex_unlock(&pipeline->lock);
    return ok;
}

static void pass_turn(struct pipeline *pipeline, unsigned stage)
{
    (void)pthread_mutex_lock(&pipeline->lock);
    pipeline->turn[stage]++;
    (void)pthread_cond_broadcast(&pipeline->passed[stage]);
    (void)pthread_mutex_unlock(&pipeline->lock);
}

static int run_stage(struct pipeline *pipeline, unsigned i, struct piece *piece)
{
    const struct stage *stage = &pipeline->stages[i];
    if (stage->kind == STAGE_ORDERED && !wait_turn(pipeline, i, piece->number))
        return 0;
    if (!stage->run(stage->context, piece)) {
        fail(pipeline, piece->error);
        return 0;
    }
    if (stage->kind == STAGE_ORDERED)
        pass_turn(pipeline, i);
    return 1;
}

/* 0 when there is nothing more to do for this thread. */
static int run_piece(struct pipeline *pipeline, struct piece *piece, size_t *used)
{
    piece->number = atomic_fetch_add(&pipeline->next, 1);
    piece->absent = piece->last = piece->ends = piece->broken = 0;
    piece->current = 0;
    piece->data = piece->buffers[0];
    piece->bytes = 0;
    for (unsigned i = 0; i < pipeline->count && !piece->absent; i++) {
        if (!run_stage(pipeline, i, piece))
            return 0;
        if (piece->bytes > *used)
            *used = piece->bytes;
    }
    return !piece->absent && !piece->last;
}

static void *work(void *argument)
{
    struct pipeline *pipeline = argument;
    struct piece piece = {.thread = atomic_fetch_add(&pipeline->begun, 1)};
    const size_t stride = PIECE_HEADROOM + pipeline->capacity;
    size_t used = 0; /* of either buffer, at most */
    unsigned char *memory = malloc(2 * stride);
    if (memory == NULL) {
        fail(pipeline, "there is no memory for buffers");
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        piece.buffers[i] = memory + (size_t)i * stride + PIECE_HEADROOM;
    while (run_piece(pipeline, &piece, &used))
        continue;
    /* What was in them is somebody's data. Pages that were not used are not touched. */
    for (int i = 0; i < 2; i++)
        OPENSSL_cleanse(memory + (size_t)i * stride,
                        PIECE_HEADROOM + min_u64(used, pipeline->capacity));
    free(memory);
    return NULL;
}

unsigned pipeline_threads(uint64_t pieces)
{
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    unsigned threads = cpus < THREADS_BY_DEFAULT ? (unsigned)cpus : THREADS_BY_DEFAULT;
    return min_unsigned(pieces, threads);
}

void pipeline_add(struct pipeline *pipeline, stage_fn *run, void *context, enum stage_kind kind)
{
    pipeline->stages[pipeline->count++] = (struct stage){run, context, kind};
}

/*
 * The pipeline's threads take no signals, which the first thread handles; but a closed pipe and
 * a page that is gone are reported to the thread that writes. Returns how many were started.
 */
static unsigned start_threads(struct pipeline *pipeline, pthread_t *threads)
{
    sigset_t all, before;
    unsigned started = 0;
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGPIPE);
    (void)sigdelset(&all, SIGBUS);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < pipeline->threads &&
           pthread_create(&threads[started], NULL, work, pipeline) == 0)
        started++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started == 0)
        fail(pipeline, "no thread can be started");
    return started;
}

/* Waits for the thread's end, and calls `tick` meanwhile. */
static void join(pthread_t thread, void (*tick)(void *), void *context)
{
    struct timespec until = clock_timespec(clock_ns(CLOCK_REALTIME) + TICK_NS);
    while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT) {
        tick(context);
        until = clock_timespec(clock_ns(CLOCK_REALTIME) + TICK_NS);
    }
}

int pipeline_run(struct pipeline *pipeline, void (*tick)(void *), void *context)
{
    pthread_t threads[PIPELINE_THREADS];
    (void)pthread_mutex_init(&pipeline->lock, NULL);
    for (unsigned i = 0; i < PIPELINE_STAGES; i++)
        (void)pthread_cond_init(&pipeline->passed[i], NULL);
    unsigned started = start_threads(pipeline, threads);
    for (unsigned i = 0; i < started; i++)
        join(threads[i], tick, context);
    return !pipeline->failed;
}
