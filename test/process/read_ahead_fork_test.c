/*
 * Processes that fork while keystream is made ahead of their streams, with segments
 * in flight, from one thread and while others are at work. Parent and child
 * both go on with the same streams and both are right; the child, which has no
 * device, copies, begins again, frees and ends in each of three ways.
 *
 * The device's state belongs to the process, so each scenario is this program
 * again, once with pinned memory that the child shares and once with pinned memory
 * that is absent there (the driver may do either).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* children end while threads are at work */
#include "test/support/read_ahead_streams.h"

enum ending { BY_EXIT, BY_IMMEDIATE_EXIT, BY_EXEC, ENDINGS };
static const char *const ending_names[] = {"exit", "_exit", "exec"};

enum { STREAMS = 2, THREADS = 2 };

static const char *const names[STREAMS] = {"AES-256-CTR", "AES-128-CTR"};

/* ---- Children ----------------------------------------------------------------- */

/* From where the parent was, in large steps and in small ones. */
static int goes_on(struct stream *s)
{
    return stream_agrees(s) && stream_update(s, 1) && stream_agrees(s) &&
           stream_hurry(s, 600 * KIB, 10001) && stream_update(s, 15) &&
           stream_call(s, &(struct call){ONE_SHOT, 32 * KIB, .apart = 0}) && stream_agrees(s);
}

static int all_go_on(struct stream streams[STREAMS])
{
    int right = 1;
    for (int i = 0; right && i < STREAMS; i++)
        right = goes_on(&streams[i]);
    return right;
}

/* What a stream of the child's own does, long enough to be read ahead of. */
static int life_of_its_own(struct memory *memory, const struct stream *inherited)
{
    struct stream own = stream_open(memory, "AES-192-CTR", usual_key, usual_iv);
    struct stream copy = {.side = {NULL}};
    int right = stream_hurry(&own, BEGINS_AFTER + SOME, 4096) && goes_on(&own) &&
                stream_copy(&copy, inherited) && goes_on(&copy);
    stream_close(&own);
    stream_close(&copy);
    return right;
}

static void end(enum ending ending, int right)
{
    if (ending == BY_EXEC && right)
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
    if (ending == BY_EXIT) {
        providers_unload(&providers); /* tears the module down in the child */
        exit(!right);
    }
    _exit(!right);
}

static void be_child(enum ending ending, struct stream streams[STREAMS])
{
    alarm(200);
    int right = all_go_on(streams) && life_of_its_own(streams[0].memory, &streams[1]);
    pid_t grandchild = fork();
    if (grandchild == 0)
        _exit(!all_go_on(streams));
    right = ended_well(grandchild) && right;
    right = right && stream_init(&streams[0], NULL, other_iv, -1) && all_go_on(streams);
    if (ahead_get().bytes || ahead_get().faults) {
        fprintf(stderr, "# a child has %llu bytes of read-ahead and %llu faults\n",
                (unsigned long long)ahead_get().bytes, (unsigned long long)ahead_get().faults);
        right = 0;
    }
    /* One way ends with everything there. */
    for (int i = 0; ending != BY_IMMEDIATE_EXIT && i < STREAMS; i++)
        stream_close(&streams[i]);
    end(ending, right);
}

/* ---- Threads at work meanwhile ------------------------------------------------ */

static atomic_uint at_work;
static atomic_int stop;

static void *work(void *unused)
{
    (void)unused;
    struct memory *memory = memory_new(2);
    struct stream s = stream_open(memory, "AES-192-CTR", usual_key, usual_iv);
    int right = stream_hurry(&s, BEGINS_AFTER, PACED);
    atomic_fetch_add(&at_work, 1);
    while (right && !atomic_load(&stop)) {
        right = stream_update(&s, PACED);
        sleep_ms(1);
    }
    right = right && stream_agrees(&s);
    stream_close(&s);
    free(memory);
    return right ? &stop : NULL;
}

/* ---- Scenarios ---------------------------------------------------------------- */

/* Parent and child at the same time. */
static int fork_and_go_on(enum ending ending, struct stream streams[STREAMS])
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_child(ending, streams);
    int right = all_go_on(streams) && stream_served(&streams[1], 1);
    return ended_well(child) && right && all_go_on(streams);
}

static int run_scenario(enum ending ending, unsigned threads)
{
    struct memory *memory = memory_new(1);
    pthread_t workers[THREADS];
    struct stream streams[STREAMS] = {{.side = {NULL}}};
    alarm(300);
    int right = ahead_begin();
    for (int i = 0; i < STREAMS; i++)
        right = stream_begin(&streams[i], memory, names[i]) && right;
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    while (atomic_load(&at_work) < threads)
        sleep_ms(1);
    for (int i = 0; right && i < 3; i++) {
        /* In mid-block, right behind a segment, and somewhere. */
        right =
            stream_update(&streams[i % STREAMS], (size_t)i * 7) && fork_and_go_on(ending, streams);
    }
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < threads; i++) {
        void *result;
        pthread_join(workers[i], &result);
        right = right && result;
    }
    for (int i = 0; i < STREAMS; i++) {
        right = right && stream_served(&streams[i], 1);
        stream_close(&streams[i]);
    }
    right = right && ahead_get().faults == 0;
    providers_unload(&providers);
    free(memory);
    return right;
}

int main(int argc, char **argv)
{
    static const char *const memories[] = {"fork=shared,kernel-us=3000",
                                           "fork=absent,kernel-us=3000"};
    if (argc > 2)
        return !run_scenario((enum ending)atoi(argv[1]), (unsigned)atoi(argv[2]));
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    for (int i = 0; i < 2 * ENDINGS * 2; i++) {
        int ending = i / 2 % ENDINGS, threads = i % 2 * THREADS;
        const char *memory = memories[i / (2 * ENDINGS)];
        tap_ok(ended_well(case_begin(NULL, memory, "%d %d", ending, threads)),
               "child ends by %s, %d threads at work, %s", ending_names[ending], threads, memory);
    }
    return tap_done();
}
