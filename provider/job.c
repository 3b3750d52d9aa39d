/*
 * Waiting in ASYNC jobs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine_measure.h"

/*
 * PAUSED: the job is, or is about to be, and the application is to be told. TELLING: it is just
 * being told. Who is not paused when the wait is over is told nothing.
 */
enum { PENDING, PAUSED, TELLING, OVER };

/*
 * What a wait context has of ours, as the custom data of its descriptor. At most one wait at a
 * time: a job has one wait context, and a paused one begins no other wait.
 */
struct job_notice {
    int fd;
    unsigned generation;
    struct job_wait *wait; /* that is being waited for; NULL: none */
};

/* For those who block. Taken with no other lock, and none within it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_over = PTHREAD_COND_INITIALIZER;
static _Atomic unsigned blocked;
static _Atomic unsigned generation;

static const char key_of_notice;

/* The wait that this thread is just telling of. */
static _Thread_local struct job_wait *told;

/* ---- Processes ----------------------------------------------------------------------- */

/* There is no other thread here that may have the lock. */
static void after_fork_in_child(void)
{
    (void)pthread_mutex_init(&lock, NULL);
    (void)pthread_cond_init(&is_over, NULL);
    atomic_store(&blocked, 0);
    atomic_fetch_add(&generation, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

unsigned job_generation(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    return atomic_load(&generation);
}

int job_is_current(void)
{
    return ASYNC_get_current_job() != NULL;
}

/* ---- Wait contexts ------------------------------------------------------------------- */

/* The wait context goes: a job that is paused will never be resumed. */
static void forget_notice(ASYNC_WAIT_CTX *context, const void *key, OSSL_ASYNC_FD fd, void *data)
{
    struct job_notice *notice = data;
    (void)context;
    (void)key;
    if (notice->wait != NULL)
        job_wait_out(notice->wait);
    (void)close(fd);
    OPENSSL_free(notice);
}

static struct job_notice *make_notice(ASYNC_WAIT_CTX *context)
{
    struct job_notice *notice = OPENSSL_zalloc(sizeof *notice);
    if (notice == NULL)
        return NULL;
    notice->generation = job_generation();
    notice->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (notice->fd >= 0 &&
        ASYNC_WAIT_CTX_set_wait_fd(context, &key_of_notice, notice->fd, notice, forget_notice))
        return notice;
    if (notice->fd >= 0)
        (void)close(notice->fd);
    OPENSSL_free(notice);
    return NULL;
}

/* A forked child shares its parent's descriptors: what it reads there is lost to the parent. */
static struct job_notice *find_notice(ASYNC_WAIT_CTX *context)
{
    OSSL_ASYNC_FD fd;
    void *data;
    if (!ASYNC_WAIT_CTX_get_fd(context, &key_of_notice, &fd, &data))
        return make_notice(context);
    struct job_notice *notice = data;
    return notice->generation == job_generation() ? notice : NULL;
}

void job_wait_begin(struct job_wait *wait, int may_pause)
{
    ASYNC_JOB *job = may_pause ? ASYNC_get_current_job() : NULL;
    ASYNC_WAIT_CTX *context = job != NULL ? ASYNC_get_wait_ctx(job) : NULL;
    *wait = (struct job_wait){.state = PENDING, .generation = job_generation()};
    if (context == NULL)
        return;
    if (ASYNC_WAIT_CTX_get_callback(context, &wait->callback, &wait->callback_argument)) {
        (void)ASYNC_WAIT_CTX_set_status(context, ASYNC_STATUS_OK);
        return;
    }
    wait->callback = NULL;
    wait->notice = find_notice(context);
}

/* ---- The waiting side ----------------------------------------------------------------- */

static int is_orphaned(const struct job_wait *wait)
{
    return wait->generation != job_generation();
}

static void block(struct job_wait *wait)
{
    int cancel_state; /* others work on our stack */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)pthread_mutex_lock(&lock);
    atomic_fetch_add(&blocked, 1);
    while (atomic_load(&wait->state) != OVER)
        (void)pthread_cond_wait(&is_over, &lock);
    atomic_fetch_sub(&blocked, 1);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

/*
 * Where pauses are blocked, ASYNC_pause_job() returns at once, and nobody can tell that from a
 * job that is resumed at once. One that is resumed again and again without a reason spins, which
 * is better done asleep.
 */
static const double at_once_ns = 1000;
enum { AT_ONCE_MOST = 16 };

int job_wait_pauses(const struct job_wait *wait)
{
    return wait->notice != NULL || wait->callback != NULL;
}

static void pause_until_over(struct job_wait *wait)
{
    int at_once = 0, pending = PENDING;
    if (!atomic_compare_exchange_strong(&wait->state, &pending, PAUSED))
        return;
    if (wait->notice != NULL)
        wait->notice->wait = wait;
    while (atomic_load(&wait->state) == PAUSED && !is_orphaned(wait) && at_once < AT_ONCE_MOST) {
        double begun = measure_now_ns();
        if (!ASYNC_pause_job())
            return;
        at_once = measure_now_ns() - begun < at_once_ns ? at_once + 1 : 0;
    }
}

/*
 * Whether the callback of this wait has led here: then there is nothing to wait for. By itself,
 * since a job may be resumed in another thread, and the place of `told` is that thread's.
 */
__attribute__((noinline)) static int is_being_told(const struct job_wait *wait)
{
    if (told != wait)
        return 0;
    told = NULL;
    return 1;
}

/* The application was told of this wait; it may be told of the next. */
static void take_back_notice(const struct job_wait *wait)
{
    eventfd_t unused;
    int cancel_state;
    if (wait->notice->wait != wait)
        return;
    wait->notice->wait = NULL;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)eventfd_read(wait->notice->fd, &unused);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

int job_wait_for(struct job_wait *wait)
{
    if (job_wait_pauses(wait))
        pause_until_over(wait);
    if (is_orphaned(wait)) {
        if (wait->notice != NULL)
            wait->notice->wait = NULL;
        return 0;
    }
    if (!is_being_told(wait) && atomic_load(&wait->state) != OVER)
        block(wait);
    if (wait->notice != NULL)
        take_back_notice(wait);
    return 1;
}

void job_wait_out(struct job_wait *wait)
{
    if (!is_being_told(wait) && !is_orphaned(wait) && atomic_load(&wait->state) != OVER)
        block(wait);
}

/* ---- The other side ------------------------------------------------------------------- */

static void tell(const struct job_wait *wait)
{
    if (wait->callback != NULL)
        (void)wait->callback(wait->callback_argument);
    else
        (void)eventfd_write(wait->notice->fd, 1);
}

void job_wait_end(struct job_wait *wait)
{
    int state = PENDING;
    if (!atomic_compare_exchange_strong(&wait->state, &state, OVER)) {
        atomic_store(&wait->state, TELLING);
        told = wait;
        tell(wait);
        if (told != wait)
            return;
        told = NULL;
        atomic_store(&wait->state, OVER);
    }
    if (atomic_load(&blocked) != 0) {
        (void)pthread_mutex_lock(&lock);
        (void)pthread_cond_broadcast(&is_over);
        (void)pthread_mutex_unlock(&lock);
    }
}
