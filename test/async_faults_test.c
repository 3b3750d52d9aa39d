/*
 * Jobs that wait for a device when something happens: it fails, is lost or hangs, the process
 * forks or ends, they are resumed too early, or what a job works on is taken away. Each ends with
 * the right bytes, or is refused where that is allowed, and nothing hangs. For the emulator only.
 *
 * The device's state belongs to the process, so each case is this program again.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "cases.h"
#include "jobs.h"

enum { JOBS = 48, STATUS = 42, LIMIT_SECONDS = 100 };

static struct providers providers;
static struct tap_random seeds;
static struct job *jobs, *others;

static const struct job some = {
    .encrypt = -1, .updates = 4, .least = 100, .longest = 4000, .providers = &providers};

/* Jobs of CBC, which all pause. */
static void make_jobs(void)
{
    jobs = jobs_make(JOBS, &some, &seeds);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i].row = &cipher_rows[3 + i % 3];
}

/* ---- The cases ---------------------------------------------------------------------- */

/* The options in the environment do it. */
static int fail(long unused)
{
    (void)unused;
    make_jobs();
    struct jobs_result r = jobs_run(jobs, JOBS);
    printf("%llu\n", (unsigned long long)figures_get(&providers).faults);
    fflush(stdout);
    return r.right == JOBS ? STATUS : 1;
}

/* A child resumes jobs that wait for a thread of its parent. */
static int go_on_in_child(void)
{
    size_t good = 0;
    for (size_t i = 0; i < JOBS; i++) {
        for (int steps = 0; !jobs[i].finished && steps < 100; steps++)
            job_step(&jobs[i]);
        good += jobs[i].finished && (jobs[i].right || jobs[i].refused);
    }
    ERR_clear_error();
    (void)jobs_close(jobs, JOBS);
    return good == JOBS ? STATUS : 1;
}

static const struct job message = {.row = &cipher_rows[5],
                                   .encrypt = 1,
                                   .updates = 3,
                                   .least = 5000,
                                   .longest = 5000,
                                   .goes_on = 1,
                                   .providers = &providers};

/* Begins a job where another one of the same message has ended. */
static int continue_message(struct job *j)
{
    ASYNC_WAIT_CTX_free(j->wait);
    j->wait = ASYNC_WAIT_CTX_new();
    j->finished = 0;
    j->job = NULL;
    return job_step(j) && jobs_resume(j, 1) && j->right;
}

static int fork_amid(long ms)
{
    others = jobs_make(1, &message, &seeds);
    int right = jobs_start(others, 1) && jobs_resume(others, 1) && others->pauses != 0;
    make_jobs();
    right = jobs_start(jobs, JOBS) && right;
    sleep_ms(ms);
    pid_t child = fork();
    if (child == 0) {
        int goes_on = continue_message(others), status = goes_on ? go_on_in_child() : 1;
        if (sanitized()) /* the leak check wants locks that threads held */
            _exit(status);
        exit(status);
    }
    right = right && continue_message(others) && jobs_close(others, 1).right == 1;
    right = right && jobs_resume(jobs, JOBS) && jobs_close(jobs, JOBS).right == JOBS;
    return exit_status(child) == STATUS && right ? STATUS : 1;
}

/* Jobs that are resumed before their results are there pause again. */
static int resume_too_early(long unused)
{
    size_t finished = 0;
    unsigned pauses = 0;
    (void)unused;
    make_jobs();
    for (int right = jobs_start(jobs, JOBS); right && finished < JOBS; sleep_ms(1)) {
        finished = 0;
        for (size_t i = 0; i < JOBS; i++) {
            right = right && (jobs[i].finished || job_step(&jobs[i]));
            finished += (size_t)jobs[i].finished;
        }
    }
    for (size_t i = 0; i < JOBS; i++)
        pauses += jobs[i].pauses;
    return jobs_close(jobs, JOBS).right == JOBS && pauses > 2 * JOBS * some.updates ? STATUS : 1;
}

/* What one job works on, or is told by, goes; the others go on. */
static int take_away(long unused)
{
    static ASYNC_JOB *never_resumed[JOBS];
    (void)unused;
    make_jobs();
    int right = jobs_start(jobs, JOBS);
    for (size_t i = 0; i < JOBS / 2; i++) {
        struct job *j = &jobs[i];
        never_resumed[i] = j->job;
        right = right && !j->finished;
        if (i % 2 == 0) {
            EVP_CIPHER_CTX_free(j->ours);
            j->ours = NULL;
        } else {
            ASYNC_WAIT_CTX_free(j->wait);
            j->wait = NULL;
        }
        /* Nobody works on them any more. */
        free(j->in);
        free(j->out);
        j->in = j->out = NULL;
    }
    right = right && jobs_resume(jobs + JOBS / 2, JOBS / 2);
    for (size_t i = 0; i < JOBS; i++) {
        right = right && (i < JOBS / 2 || (jobs[i].finished && jobs[i].right));
        job_close(&jobs[i]);
    }
    return right && never_resumed[0] != NULL ? STATUS : 1;
}

static void *leave(void *unused)
{
    (void)unused;
    exit(STATUS);
}

/* By return from main(), by exit() in another thread, by _exit(). */
static int end_amid(long way)
{
    pthread_t thread;
    make_jobs();
    if (!jobs_start(jobs, JOBS))
        return 1;
    sleep_ms(way / 3 * 3);
    if (way % 3 == 1 && pthread_create(&thread, NULL, leave, NULL) == 0)
        pthread_join(thread, NULL);
    if (way % 3 == 2)
        _exit(STATUS);
    return STATUS;
}

/* ---- Runs ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int (*run)(long);
} cases[] = {{"fail", fail},
             {"fork", fork_amid},
             {"early", resume_too_early},
             {"take", take_away},
             {"end", end_amid}};

static int run_case(const char *name, long argument)
{
    alarm(LIMIT_SECONDS);
    tap_random_seed(&seeds);
    providers = providers_load();
    start_device(&providers);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0)
            return cases[i].run(argument);
    return 1;
}

/* 1 if it ended as it should; how many faults it says there were. */
static int ends_well(const char *name, long argument, const char *options, unsigned *faults)
{
    char line[64];
    int status;
    set_timeout_for(options);
    FILE *output =
        case_hear(STDOUT_FILENO, &status, "GPUAES_MIN_BYTES=0", options, "%s %ld", name, argument);
    while (fgets(line, sizeof line, output) != NULL)
        if (line[0] == '#')
            tap_diag("%.*s", (int)strcspn(line + 2, "\n"), line + 2);
        else if (faults != NULL)
            *faults = (unsigned)strtoul(line, NULL, 10);
    fclose(output);
    if (status != STATUS)
        tap_diag("%s %ld with %s: status %d", name, argument, options, status);
    return status == STATUS;
}

static void faults(void)
{
    /* Each is reached, however few launches there are. */
    static const char *const options[] = {"fault=cuLaunchKernel:2",
                                          "fault=cuLaunchKernel:4",
                                          "fault=cuMemcpyHtoDAsync_v2:3",
                                          "fault=cuMemcpyDtoHAsync_v2:3",
                                          "fault=cuEventRecord:2",
                                          "fault=cuEventQuery:2",
                                          "fault=cuMemsetD8Async:3",
                                          "lost=cuLaunchKernel:3",
                                          "lost=cuMemcpyDtoHAsync_v2:3",
                                          "lost=cuEventQuery:3",
                                          "hang=2",
                                          "hang=4"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        unsigned count = 0;
        int right = ends_well("fail", 0, options[i], &count);
        tap_ok(right && count > 0, "%s: all jobs are right, %u faults", options[i], count);
    }
}

/* Where the device is insisted on, a child has none either, but still asks whether to gather. */
static void forks(void)
{
    static const char *const engines[] = {"auto", "gpu"};
    static const long moments[] = {0, 5, 25};
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
            setenv("GPUAES_ENGINE", engines[e], 1);
            tap_ok(ends_well("fork", moments[i], "kernel-us=20000", NULL),
                   "a fork %ld ms after jobs began to wait, engine=%s", moments[i], engines[e]);
        }
    unsetenv("GPUAES_ENGINE");
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return run_case(argv[1], strtol(argv[2], NULL, 10));
    faults();
    forks();
    tap_ok(ends_well("early", 0, "kernel-us=20000", NULL),
           "jobs that are resumed before their results are there");
    tap_ok(ends_well("take", 0, "kernel-us=5000", NULL),
           "contexts and wait contexts are freed while jobs are paused");
    for (long way = 0; way < 9; way++)
        tap_ok(ends_well("end", way, "kernel-us=5000", NULL),
               "the process ends while jobs are paused: way %ld", way);
    return tap_done();
}
