/*
 * ASYNC jobs for tests: each has a context of ours and one of the default provider, which are
 * given the same updates; and the loop of an application that resumes those that may go on.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_JOBS_H
#define GPUAES_TEST_JOBS_H

#include <openssl/async.h>
#include <poll.h>

#include "providers.h"

enum { MOST_JOBS = 1024, MOST_BYTES = 200000, WAIT_MS = 60000 };

struct job {
    /* What it does: a random cipher, direction and sizes from here on. */
    struct tap_random random;
    const struct cipher_row *row; /* NULL: any */
    int encrypt;                  /* -1: either */
    size_t updates, longest, least;
    int goes_on; /* it ends amid a message */
    const struct providers *providers;

    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait;
    int in_place, finished, right, refused;
    unsigned pauses;
    EVP_CIPHER_CTX *ours, *reference; /* while it runs */
    unsigned char *in, *out, *expected;
};

static int job_update(struct job *j)
{
    size_t bytes = j->least + tap_random_below(&j->random, j->longest - j->least + 1);
    int n = 0, m = 0;
    /* What is held back would make an update in place overlap itself. */
    if (j->in_place && j->row->mode != CTR)
        bytes = bytes / 16 * 16;
    tap_random_bytes(&j->random, j->in, bytes);
    EVP_CipherUpdate(j->reference, j->expected, &m, j->in, (int)bytes);
    int ok = EVP_CipherUpdate(j->ours, j->in_place ? j->in : j->out, &n, j->in, (int)bytes);
    j->refused |= !ok;
    return ok && n == m && memcmp(j->in_place ? j->in : j->out, j->expected, (size_t)n) == 0;
}

static int job_end(struct job *j)
{
    int n = 0, m = 0;
    int ok = EVP_CipherFinal_ex(j->ours, j->out, &n);
    return ok == EVP_CipherFinal_ex(j->reference, j->expected, &m) && n == m &&
           memcmp(j->out, j->expected, (size_t)n) == 0;
}

static void job_open(struct job *j)
{
    static unsigned turn;
    unsigned char key[32], iv[16];
    if (j->row == NULL)
        j->row = &cipher_rows[turn++ % CIPHER_ROWS];
    if (j->encrypt < 0)
        j->encrypt = (int)tap_random_below(&j->random, 2);
    tap_random_bytes(&j->random, key, sizeof key);
    tap_random_bytes(&j->random, iv, sizeof iv);
    EVP_CIPHER *ours = fetch_ours(j->providers, j->row->name);
    EVP_CIPHER *reference = fetch_reference(j->providers, j->row->name);
    j->ours = EVP_CIPHER_CTX_new();
    j->reference = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(j->ours, ours, key, iv, j->encrypt, NULL);
    EVP_CipherInit_ex2(j->reference, reference, key, iv, j->encrypt, NULL);
    /* Random bytes have no padding. */
    EVP_CIPHER_CTX_set_padding(j->ours, 0);
    EVP_CIPHER_CTX_set_padding(j->reference, 0);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
    j->in = malloc(MOST_BYTES + 32);
    j->out = malloc(MOST_BYTES + 32);
    j->expected = malloc(MOST_BYTES + 32);
    j->wait = j->wait == NULL ? ASYNC_WAIT_CTX_new() : j->wait;
    j->in_place = (int)tap_random_below(&j->random, 2);
    j->right = 1;
}

static void job_close(struct job *j)
{
    EVP_CIPHER_CTX_free(j->ours);
    EVP_CIPHER_CTX_free(j->reference);
    ASYNC_WAIT_CTX_free(j->wait);
    free(j->in);
    free(j->out);
    free(j->expected);
}

static int job_run(void *argument)
{
    struct job *j = *(struct job **)argument;
    for (size_t i = 0; i < j->updates && j->right; i++)
        j->right = job_update(j);
    j->right = j->right && (j->goes_on || job_end(j));
    return 1;
}

/* Starts or resumes it. 1 unless libcrypto refuses. */
static int job_step(struct job *j)
{
    int result;
    switch (ASYNC_start_job(&j->job, j->wait, &result, job_run, &j, sizeof(struct job *))) {
    case ASYNC_PAUSE:
        j->pauses++;
        return 1;
    case ASYNC_FINISH:
        j->finished = 1;
        return 1;
    default:
        return 0;
    }
}

static int job_fd(const struct job *j)
{
    OSSL_ASYNC_FD fd = -1;
    size_t count = 0;
    if (!ASYNC_WAIT_CTX_get_all_fds(j->wait, NULL, &count) || count != 1)
        return -1;
    ASYNC_WAIT_CTX_get_all_fds(j->wait, &fd, &count);
    return fd;
}

/* Resumes those whose descriptors are ready, until all have finished. 1, or 0 after a minute. */
UNUSED static int jobs_resume(struct job *jobs, size_t count)
{
    static struct pollfd fds[MOST_JOBS];
    for (;;) {
        size_t waiting = 0;
        for (size_t i = 0; i < count; i++) {
            fds[i].fd = jobs[i].finished ? -1 : job_fd(&jobs[i]);
            fds[i].events = POLLIN;
            fds[i].revents = 0;
            waiting += !jobs[i].finished;
        }
        if (waiting == 0)
            return 1;
        if (poll(fds, count, WAIT_MS) <= 0)
            return 0;
        for (size_t i = 0; i < count; i++)
            if (!jobs[i].finished && (fds[i].revents & POLLIN) != 0 && !job_step(&jobs[i]))
                return 0;
    }
}

UNUSED static int jobs_start(struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        job_open(&jobs[i]);
        if (!job_step(&jobs[i]))
            return 0;
    }
    return 1;
}

struct jobs_result {
    size_t right, finished, paused;
};

UNUSED static struct jobs_result jobs_close(struct job *jobs, size_t count)
{
    struct jobs_result result = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        result.right += jobs[i].finished && jobs[i].right;
        result.finished += (size_t)jobs[i].finished;
        result.paused += jobs[i].pauses != 0;
        if (!jobs[i].right && !jobs[i].refused)
            tap_diag("wrong: job %zu, %s %s", i, jobs[i].row->name,
                     jobs[i].encrypt ? "encrypt" : "decrypt");
        job_close(&jobs[i]);
    }
    return result;
}

/* Jobs as `like`, each with random numbers of its own. */
UNUSED static struct job *jobs_make(size_t count, const struct job *like, struct tap_random *random)
{
    struct job *jobs = calloc(count, sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = *like;
        jobs[i].random.state = tap_random_next(random) | 1;
    }
    return jobs;
}

/* All of it: those that were right. */
UNUSED static struct jobs_result jobs_run(struct job *jobs, size_t count)
{
    if (!jobs_start(jobs, count) || !jobs_resume(jobs, count))
        tap_diag("the jobs do not come to an end");
    return jobs_close(jobs, count);
}

/* So that updates find a device that is ready. */
UNUSED static void start_device(const struct providers *p)
{
    static const unsigned char key[32] = "a key";
    unsigned char text[64] = "text", out[64];
    EVP_CIPHER *cipher = fetch_ours(p, "AES-256-ECB");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n;
    EVP_CipherInit_ex2(context, cipher, key, NULL, 1, NULL);
    EVP_CipherUpdate(context, out, &n, text, sizeof text);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
}

#endif
