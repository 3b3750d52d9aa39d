/*
 * ASYNC jobs for tests: each gives the same updates to a context of ours and to one of the default
 * provider.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_JOBS_H
#define GPUAES_TEST_JOBS_H

#include <openssl/async.h>

#include "test/support/compared.h"

/* Runs a function in a job. Returns 1 if the job ended without a pause, 0 otherwise. */
int run_in_job(int (*function)(void *), void *argument, size_t argument_bytes);

/* What a job does: updates of `least` to `longest` bytes. */
struct job {
    const struct cipher_row *row;
    int encrypt;
    size_t updates, least, longest;
    struct tap_random random;
    int right; /* when it has ended */
};

/* Returns 1 if the job ended without a pause and its results were right, 0 otherwise. */
int job_is_right(struct job *j);

#endif
