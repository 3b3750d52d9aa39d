/*
 * Threads that do the same work at once, each its own part of it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_TEAM_H
#define GPUAES_BENCH_TEAM_H

#include <pthread.h>

enum { TEAM_THREADS = 512 };

/* What one thread does; numbers are 0, the caller's, to `threads` - 1. */
typedef void team_fn(unsigned number, void *argument);

struct team {
    unsigned threads; /* the caller's included */
    pthread_t thread[TEAM_THREADS];
    pthread_barrier_t begin, end;
    unsigned ready; /* threads that know their number */
    team_fn *work;  /* NULL: all end */
    void *argument;
};

/* Starts the threads, TEAM_THREADS at most, or ends the program. */
void team_open(struct team *team, unsigned threads);
void team_close(struct team *team);

/* Has all threads do the work, and waits for them. */
void team_run(struct team *team, team_fn *work, void *argument);

#endif
