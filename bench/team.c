/*
 * Threads that do the same work at once.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/team.h"

#include "base/minmax.h"
#include "bench/card.h"

static void *member(void *argument)
{
    struct team *t = argument;
    unsigned number = __atomic_add_fetch(&t->ready, 1, __ATOMIC_RELAXED);
    for (;;) {
        (void)pthread_barrier_wait(&t->begin);
        if (t->work == NULL)
            return NULL;
        t->work(number, t->argument);
        (void)pthread_barrier_wait(&t->end);
    }
}

void team_open(struct team *t, unsigned threads)
{
    *t = (struct team){.threads = min_unsigned(threads, TEAM_THREADS)};
    card_check(pthread_barrier_init(&t->begin, NULL, t->threads), "pthread_barrier_init");
    card_check(pthread_barrier_init(&t->end, NULL, t->threads), "pthread_barrier_init");
    for (unsigned i = 1; i < t->threads; i++)
        card_check(pthread_create(&t->thread[i], NULL, member, t), "pthread_create");
}

void team_run(struct team *t, team_fn *work, void *argument)
{
    t->work = work;
    t->argument = argument;
    (void)pthread_barrier_wait(&t->begin);
    work(0, argument);
    (void)pthread_barrier_wait(&t->end);
}

void team_close(struct team *t)
{
    t->work = NULL;
    (void)pthread_barrier_wait(&t->begin);
    for (unsigned i = 1; i < t->threads; i++)
        (void)pthread_join(t->thread[i], NULL);
    pthread_barrier_destroy(&t->begin);
    pthread_barrier_destroy(&t->end);
}
