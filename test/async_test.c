/*
 * Updates in ASYNC jobs: many jobs of all modes at once, which pause and share launches; jobs
 * that are told by callbacks, may not pause, or have a random number
 * generator on our AES. The emulated driver ends the process if it is called on a job's stack.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/rand.h>
#include <pthread.h>
#include <unistd.h>

#include "jobs.h"

static struct providers providers;
static struct tap_random seeds;

static const struct job any = {
    .encrypt = -1, .updates = 6, .longest = 6000, .providers = &providers};

static const struct cipher_row *row_of(const char *name)
{
    for (size_t i = 0; i < CIPHER_ROWS; i++)
        if (strcmp(cipher_rows[i].name, name) == 0)
            return &cipher_rows[i];
    return NULL;
}

static struct job like(const char *name, int encrypt, size_t updates, size_t least, size_t longest)
{
    struct job j = any;
    j.row = row_of(name);
    j.encrypt = encrypt;
    j.updates = updates;
    j.least = least;
    j.longest = longest;
    return j;
}

/* ---- Many at once ------------------------------------------------------------------- */

static void all_modes(void)
{
    enum { JOBS = 99 };
    struct job *jobs = jobs_make(JOBS, &any, &seeds);
    struct jobs_result r = jobs_run(jobs, JOBS);
    tap_ok(r.right == JOBS, "%d jobs of all modes, random sizes, some in place: %zu right", JOBS,
           r.right);
    if (stand_in())
        tap_skip("the default provider does not pause");
    else
        tap_ok(r.paused > 0, "of those of CBC %zu paused", r.paused);
    free(jobs);
}

static void one_mode(const char *name, int encrypt, size_t count, size_t least, size_t longest)
{
    enum { UPDATES = 3 };
    struct job pattern = like(name, encrypt, UPDATES, least, longest);
    struct job *jobs = jobs_make(count, &pattern, &seeds);
    struct figures before = figures_get(&providers);
    struct jobs_result r = jobs_run(jobs, count);
    struct figures after = figures_get(&providers);
    tap_ok(r.right == count, "%zu jobs of %s %s of %zu to %zu bytes: %zu right", count, name,
           encrypt ? "encrypt" : "decrypt", least, longest, r.right);
    if (stand_in()) {
        tap_skip("the default provider keeps no figures");
    } else {
        uint64_t launches = after.launches - before.launches;
        tap_ok(after.gpu_bytes - before.gpu_bytes >= count * UPDATES * (least - 32) &&
                   launches < count * UPDATES && r.paused > 0,
               "the device did them in %llu launches, and %zu paused", (unsigned long long)launches,
               r.paused);
    }
    free(jobs);
}

/* ---- Large updates ------------------------------------------------------------------ */

/* A stack of 32 KiB is too small for the driver, whoever pauses or does not. */
static void large_updates(void)
{
    static const char *const names[] = {"AES-256-ECB", "AES-128-CBC", "AES-192-CTR"};
    size_t right = 0;
    for (int i = 0; i < 3; i++) {
        struct job pattern = like(names[i], 0, 2, 70000, MOST_BYTES);
        struct job *jobs = jobs_make(4, &pattern, &seeds);
        right += jobs_run(jobs, 4).right;
        free(jobs);
    }
    tap_ok(right == 12, "updates above 64 KiB in jobs: %zu of 12 right", right);
}

/* Base64, there and back. */
static int code_base64(void *argument)
{
    enum { BYTES = 90000 };
    int *right = *(int **)argument, n = 0, m = 0;
    EVP_CIPHER *base64 = EVP_CIPHER_fetch(providers.ours, "BASE64", providers.properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char *in = malloc(BYTES), *text = malloc(BYTES * 2), *out = malloc(BYTES * 2);
    size_t room = (size_t)BYTES * 2;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    tap_random_bytes(&seeds, in, BYTES);
    *right = EVP_CipherInit_ex2(context, base64, NULL, NULL, 1, params) &&
             EVP_CipherUpdate(context, text, &n, in, BYTES) && n == BYTES / 3 * 4 &&
             EVP_CipherInit_ex2(context, base64, NULL, NULL, 0, params) &&
             EVP_CipherUpdate(context, out, &m, text, n);
    *right = *right && m > BYTES - 64 && memcmp(in, out, (size_t)m) == 0;
    free(in);
    free(text);
    free(out);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(base64);
    return 1;
}

static void base64(void)
{
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    ASYNC_JOB *job = NULL;
    int right = 0, result, *argument = &right;
    if (stand_in())
        tap_skip("the default provider has no BASE64");
    else
        tap_ok(ASYNC_start_job(&job, wait, &result, code_base64, &argument, sizeof argument) ==
                       ASYNC_FINISH &&
                   right,
               "Base64 in a job");
    ASYNC_WAIT_CTX_free(wait);
}

/* ---- How jobs are told ------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t come;
    struct job *ready[64];
    size_t count;
} mail = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0};

static int post(void *job)
{
    pthread_mutex_lock(&mail.lock);
    mail.ready[mail.count++] = job;
    pthread_cond_signal(&mail.come);
    pthread_mutex_unlock(&mail.lock);
    return 1;
}

static struct job *next_in_mail(void)
{
    struct timespec until;
    struct job *job = NULL;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&mail.lock);
    while (mail.count == 0 && pthread_cond_timedwait(&mail.come, &mail.lock, &until) == 0)
        continue;
    if (mail.count != 0)
        job = mail.ready[--mail.count];
    pthread_mutex_unlock(&mail.lock);
    return job;
}

static void callbacks(void)
{
    enum { JOBS = 48 };
    struct job pattern = like("AES-256-CBC", 1, 4, 1000, 4000);
    struct job *jobs = jobs_make(JOBS, &pattern, &seeds), *next;
    size_t finished = 0, fds = 0, status = 0;
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].wait = ASYNC_WAIT_CTX_new();
        ASYNC_WAIT_CTX_set_callback(jobs[i].wait, post, &jobs[i]);
    }
    jobs_start(jobs, JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        size_t count = 0;
        ASYNC_WAIT_CTX_get_all_fds(jobs[i].wait, NULL, &count);
        fds += count;
        status += ASYNC_WAIT_CTX_get_status(jobs[i].wait) == ASYNC_STATUS_OK;
        finished += (size_t)jobs[i].finished;
    }
    while (finished < JOBS && (next = next_in_mail()) != NULL) {
        job_step(next);
        finished += (size_t)next->finished;
    }
    struct jobs_result r = jobs_close(jobs, JOBS);
    tap_ok(r.right == JOBS && fds == 0, "%d jobs that are told by callbacks: %zu right", JOBS,
           r.right);
    if (stand_in())
        tap_skip("the default provider does not pause");
    else
        tap_ok(status == JOBS && r.paused > 0, "their wait contexts say so, %zu paused", r.paused);
    free(jobs);
}

/* The application's own descriptor beside ours. */
static void own_descriptors(void)
{
    static const char own_key;
    int pipes[2], right = pipe(pipes) == 0;
    struct job pattern = like("AES-128-CBC", 1, 3, 500, 3000);
    struct job *job = jobs_make(1, &pattern, &seeds);
    OSSL_ASYNC_FD fds[2] = {-1, -1};
    size_t count = 0, added = 0, deleted = 0;
    job->wait = ASYNC_WAIT_CTX_new();
    right = right && ASYNC_WAIT_CTX_set_wait_fd(job->wait, &own_key, pipes[0], NULL, NULL);
    jobs_start(job, 1);
    ASYNC_WAIT_CTX_get_all_fds(job->wait, NULL, &count);
    if (count <= 2)
        ASYNC_WAIT_CTX_get_all_fds(job->wait, fds, &count);
    unsigned more = 0;
    while (!job->finished && right) {
        struct pollfd poll_fd = {fds[0] == pipes[0] ? fds[1] : fds[0], POLLIN, 0};
        right = poll(&poll_fd, 1, WAIT_MS) == 1 && job_step(job);
        if (right && !job->finished &&
            ASYNC_WAIT_CTX_get_changed_fds(job->wait, NULL, &added, NULL, &deleted))
            more += (unsigned)(added + deleted);
    }
    struct jobs_result r = jobs_close(job, 1);
    tap_ok(right && r.right == 1 && (stand_in() || count == 2) && more == 0,
           "one descriptor for a wait context, beside the application's: %zu", count);
    close(pipes[0]);
    close(pipes[1]);
    free(job);
}

/* ---- Not to be paused --------------------------------------------------------------------- */

static int run_blocked(void *argument)
{
    ASYNC_block_pause();
    int result = job_run(argument);
    ASYNC_unblock_pause();
    return result;
}

static void blocked(void)
{
    struct job pattern = like("AES-256-CBC", 1, 4, 1000, 100000);
    struct job *job = jobs_make(1, &pattern, &seeds);
    int result;
    job_open(job);
    job->finished = ASYNC_start_job(&job->job, job->wait, &result, run_blocked, &job,
                                    sizeof(struct job *)) == ASYNC_FINISH;
    tap_ok(job->finished && job->right, "a job whose pauses are blocked blocks");
    (void)jobs_close(job, 1);
    free(job);
}

/* ---- Random numbers --------------------------------------------------------------------- */

enum { REQUEST = 64 << 10, REQUESTS = 3 };

struct request {
    OSSL_LIB_CTX *libctx;
    unsigned char bytes[REQUESTS][REQUEST];
    int right;
};

static int ask_for_random_bytes(void *argument)
{
    struct request *request = *(struct request **)argument;
    request->right = 1;
    for (int i = 0; i < REQUESTS; i++)
        request->right &= RAND_bytes_ex(request->libctx, request->bytes[i], REQUEST, 0) == 1 &&
                          RAND_priv_bytes_ex(request->libctx, request->bytes[i], 4000, 0) == 1;
    return 1;
}

/* No request may pause: the generator is in the middle of a change, with its lock held. */
static void random_numbers(void)
{
    enum { JOBS = 32, ASKING = 8 };
    static struct request requests[ASKING];
    struct job pattern = like("AES-256-CBC", 1, 4, 1000, 4000);
    struct job *jobs = jobs_make(JOBS, &pattern, &seeds);
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    int finished = 0, differ = 1, result,
        right = RAND_set_DRBG_type(providers.ours, "CTR-DRBG",
                                   stand_in() ? "provider=default" : "?provider=gpuaes",
                                   "AES-256-CTR", NULL);
    jobs_start(jobs, JOBS);
    for (int i = 0; i < ASKING; i++) {
        struct request *request = &requests[i];
        ASYNC_JOB *job = NULL;
        request->libctx = providers.ours;
        size_t pointer = sizeof request; /* NOLINT(bugprone-sizeof-expression): what is copied */
        finished += ASYNC_start_job(&job, wait, &result, ask_for_random_bytes, &request, pointer) ==
                    ASYNC_FINISH;
        right &= request->right;
        for (int before = 0; before < i; before++)
            differ &= memcmp(requests[before].bytes, request->bytes, sizeof request->bytes) != 0;
    }
    int resumed = jobs_resume(jobs, JOBS);
    tap_ok(right && finished == ASKING && differ,
           "a random number generator on our AES never pauses, beside jobs that do");
    tap_ok(resumed && jobs_close(jobs, JOBS).right == JOBS, "which are right");
    ASYNC_WAIT_CTX_free(wait);
    free(jobs);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void *run_jobs(void *jobs)
{
    static const size_t count = 16;
    size_t *right = malloc(sizeof *right);
    int ok = jobs_start(jobs, count);
    struct pollfd fds[16];
    for (size_t waiting = count; ok && waiting != 0;) {
        struct job *each = jobs;
        waiting = 0;
        for (size_t i = 0; i < count; i++) {
            fds[i] = (struct pollfd){each[i].finished ? -1 : job_fd(&each[i]), POLLIN, 0};
            waiting += !each[i].finished;
        }
        ok = waiting == 0 || poll(fds, count, WAIT_MS) > 0;
        for (size_t i = 0; i < count && ok; i++)
            if (!each[i].finished && (fds[i].revents & POLLIN) != 0)
                ok = job_step(&each[i]);
    }
    *right = jobs_close(jobs, count).right;
    ASYNC_cleanup_thread();
    return right;
}

static void threads(void)
{
    enum { THREADS = 4, JOBS = 16 };
    pthread_t thread[THREADS];
    struct job *jobs[THREADS];
    size_t right = 0;
    struct job pattern = like("AES-256-CBC", 1, 5, 500, 4000);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = jobs_make(JOBS, &pattern, &seeds);
        pthread_create(&thread[i], NULL, run_jobs, jobs[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(thread[i], &result);
        right += *(size_t *)result;
        free(result);
        free(jobs[i]);
    }
    tap_ok(right == (size_t)THREADS * JOBS, "jobs of %d threads: %zu of %d right", THREADS, right,
           THREADS * JOBS);
}

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 0);
    tap_random_seed(&seeds);
    providers = providers_load();
    one_mode("AES-256-CBC", 1, 70, 1000, 4000); /* the first update starts the device */
    large_updates();
    all_modes();
    one_mode("AES-128-CBC", 0, 64, 1000, 8000);
    one_mode("AES-256-CTR", 1, 20, 70000, 90000);
    base64();
    callbacks();
    own_descriptors();
    blocked();
    random_numbers();
    threads();
    providers_unload(&providers);
    return tap_done();
}
