/*
 * A process of its own that does what it is told.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/measure.h"

/* The last order: other workers hold the pipe's end as well, so that closing it says nothing. */
enum { STOP = -1 };

struct reply {
    int done;
    double cpu;
};

static void serve(int orders, int replies, worker_fn *work, void *argument)
{
    int order;
    while (read(orders, &order, sizeof order) == (ssize_t)sizeof order && order != STOP) {
        double cpu = cpu_now();
        struct reply reply = {.done = work(order, argument)};
        reply.cpu = cpu_now() - cpu;
        if (write(replies, &reply, sizeof reply) != (ssize_t)sizeof reply)
            break;
    }
}

int worker_start(struct worker *w, const char *variable, const char *value, worker_fn *work,
                 void *argument)
{
    int orders[2], replies[2];
    if (pipe(orders) != 0 || pipe(replies) != 0)
        return 0;
    (void)signal(SIGPIPE, SIG_IGN); /* a worker that died is found when it does not reply */
    (void)fflush(NULL);
    w->pid = fork();
    if (w->pid == 0) {
        close(orders[1]);
        close(replies[0]);
        setenv(variable, value, 1);
        serve(orders[0], replies[1], work, argument);
        exit(0);
    }
    close(orders[0]);
    close(replies[1]);
    w->orders = orders[1];
    w->replies = replies[0];
    return w->pid > 0;
}

int worker_order(const struct worker *w, int order, double *cpu)
{
    struct reply reply = {0};
    if (write(w->orders, &order, sizeof order) != (ssize_t)sizeof order ||
        read(w->replies, &reply, sizeof reply) != (ssize_t)sizeof reply)
        return 0;
    if (cpu != NULL)
        *cpu = reply.cpu;
    return reply.done;
}

int worker_end(struct worker *w)
{
    int status = -1, stop = STOP;
    if (write(w->orders, &stop, sizeof stop) != (ssize_t)sizeof stop)
        perror("gpuaes_bench: worker");
    close(w->orders);
    close(w->replies);
    waitpid(w->pid, &status, 0);
    return status;
}
