/*
 * Two processes that take turns, each with a setting of its own that holds for a process.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_CREW_H
#define GPUAES_BENCH_CREW_H

#include <sys/types.h>

#include "bench/measure.h"

/* What a process says of an order. */
struct reply {
    int done;            /* 0: it cannot be done */
    double seconds, cpu; /* of the work, where that is not the whole order; CPU seconds */
};

/* Does one order, a number of the caller's own, from 0 on. */
typedef void crew_fn(int order, struct reply *reply);

struct crew {
    struct {
        pid_t pid;
        int orders, replies;
    } worker[SIDES];
    int order, failed; /* of crew_turn() */
};

/* Forks both; each sets the variable of the environment to its value and takes orders. */
int crew_start(struct crew *crew, const char *variable, const char *const value[SIDES],
               crew_fn *work);

/* Gives one side an order and waits; returns `done`, 0 also where the process has died. */
int crew_order(const struct crew *crew, int side, int order);

/* A turn_fn of a crew: `order`, with the time and CPU seconds of its process. */
turn_fn crew_turn;

/* Ends both; returns 0 if they end well and no turn has failed. */
int crew_end(struct crew *crew);

#endif
