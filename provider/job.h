/*
 * Waiting for another thread of ours, in an ASYNC job or elsewhere.
 *
 * A job pauses meanwhile, if it may, so that its thread can go on with other jobs. The
 * application learns from the wait context when to resume it: by the callback that it has set
 * there, or else by a file descriptor (an eventfd), of which there is one for each wait context.
 *
 * Who may pause? libcrypto's random number generators call ciphers while they hold a lock, or in
 * the middle of a change of what a thread has for itself: another job of the thread that came
 * there then would wait for ever, or be given the same random numbers. A provider is not told
 * who calls. But of all ciphers they use ECB and CTR alone, and no request of theirs is longer
 * than SP 800-90A allows, 64 KiB; so longer updates are somebody else's, and so are all of CBC.
 * Whoever calls those with a lock of his own must say so: ASYNC_block_pause() makes us block.
 *
 * A program that has libcrypto linked into it has jobs of its own, which are not seen here: they do
 * not pause.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_JOB_H
#define GPUAES_JOB_H

#include <openssl/async.h>
#include <stdatomic.h>

/* The longest update of ECB or CTR that may be a random number generator's. */
enum { JOB_LONGEST_RANDOM = 64 << 10 };

struct job_notice;

/* One wait. It stays where it is until the wait is over, on the stack of a job too. */
struct job_wait {
    _Atomic int state;
    unsigned generation;       /* of the process, see job_generation() */
    struct job_notice *notice; /* of the wait context; NULL: none is needed, or */
    ASYNC_callback_fn callback;
    void *callback_argument;
};

/* 1 if the caller is in an ASYNC job: the driver has no room on its stack, which has 32 KiB. */
int job_is_current(void);

/* Prepares a wait; with `may_pause`, a job pauses during it. */
void job_wait_begin(struct job_wait *wait, int may_pause);

/* Whether it is going to pause. */
int job_wait_pauses(const struct job_wait *wait);

/*
 * Waits, and returns 1; or 0 in a forked child of the process in which the wait was begun:
 * the thread that is waited for is not here.
 */
int job_wait_for(struct job_wait *wait);

/* Ends a wait, in any thread: `wait` is not touched any more after that. */
void job_wait_end(struct job_wait *wait);

/*
 * For who is about to take away what the wait is for: blocks until it is over. In a forked child
 * it returns at once.
 */
void job_wait_out(struct job_wait *wait);

/* How many forks it took to get here, from the process that asked first. */
unsigned job_generation(void);

#endif
