/*
 * A process of its own that does what it is told, one turn at a time. So two
 * settings that hold for a whole process can take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_WORKER_H
#define GPUAES_BENCH_WORKER_H

#include <sys/types.h>

struct worker {
    pid_t pid;
    int orders, replies;
};

/* One order: a number of the caller's own, from 0 on. What it says; 0 where it cannot be done. */
typedef int worker_fn(int order, void *argument);

/* Forks; the child sets a variable of the environment and does orders until there are no more. */
int worker_start(struct worker *worker, const char *variable, const char *value, worker_fn *work,
                 void *argument);

/*
 * Gives an order and waits: what the work says, or 0 where the worker has died.
 * *cpu, if not NULL: the CPU seconds that it took.
 */
int worker_order(const struct worker *worker, int order, double *cpu);

/* Ends it; its exit status. */
int worker_end(struct worker *worker);

#endif
