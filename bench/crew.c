/*
 * Two processes that take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/crew.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The last order: the other process holds the pipe's end as well, so that closing it says nothing.
 */
enum { STOP = -1 };

static void serve(int orders, int replies, crew_fn *work)
{
    int order;
    while (read(orders, &order, sizeof order) == (ssize_t)sizeof order && order != STOP) {
        struct reply reply = {0};
        double cpu = cpu_now();
        work(order, &reply);
        if (reply.cpu <= 0)
            reply.cpu = cpu_now() - cpu;
        if (write(replies, &reply, sizeof reply) != (ssize_t)sizeof reply)
            break;
    }
}

int crew_start(struct crew *c, const char *variable, const char *const value[SIDES], crew_fn *work)
{
    *c = (struct crew){.failed = 0};
    (void)signal(SIGPIPE, SIG_IGN); /* a process that died is found when it does not reply */
    for (int side = 0; side < SIDES; side++) {
        int orders[2], replies[2];
        if (pipe(orders) != 0 || pipe(replies) != 0)
            return 0;
        (void)fflush(NULL);
        c->worker[side].pid = fork();
        if (c->worker[side].pid == 0) {
            (void)close(orders[1]);
            (void)close(replies[0]);
            setenv(variable, value[side], 1);
            serve(orders[0], replies[1], work);
            exit(0);
        }
        (void)close(orders[0]);
        (void)close(replies[1]);
        c->worker[side].orders = orders[1];
        c->worker[side].replies = replies[0];
        if (c->worker[side].pid < 0)
            return 0;
    }
    return 1;
}

static struct reply give_order(const struct crew *c, int side, int order)
{
    struct reply reply = {0};
    if (write(c->worker[side].orders, &order, sizeof order) != (ssize_t)sizeof order ||
        read(c->worker[side].replies, &reply, sizeof reply) != (ssize_t)sizeof reply)
        reply.done = 0;
    return reply;
}

int crew_order(const struct crew *c, int side, int order)
{
    return give_order(c, side, order).done;
}

void crew_turn(int side, void *argument)
{
    struct crew *c = argument;
    struct reply reply = give_order(c, side, c->order);
    c->failed |= reply.done == 0;
    measure_elsewhere(reply.seconds, reply.cpu);
}

int crew_end(struct crew *c)
{
    int failed = c->failed;
    for (int side = 0; side < SIDES; side++) {
        int status = -1, stop = STOP;
        if (write(c->worker[side].orders, &stop, sizeof stop) != (ssize_t)sizeof stop)
            perror("gpuaes_bench: worker");
        (void)close(c->worker[side].orders);
        (void)close(c->worker[side].replies);
        (void)waitpid(c->worker[side].pid, &status, 0);
        failed |= status != 0;
    }
    return failed;
}
