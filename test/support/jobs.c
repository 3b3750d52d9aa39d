/*
 * ASYNC jobs whose updates are compared with the default provider's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/jobs.h"

int run_in_job(int (*function)(void *), void *argument, size_t argument_bytes)
{
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    ASYNC_JOB *job = NULL;
    int result = 0,
        status = ASYNC_start_job(&job, wait, &result, function, argument, argument_bytes);
    ASYNC_WAIT_CTX_free(wait);
    return status == ASYNC_FINISH && result == 1;
}

static int job_run(void *argument)
{
    struct job *j = *(struct job **)argument;
    struct memory *memory = memory_for(tap_random_next(&j->random), j->longest);
    unsigned char key[LONGEST_KEY], iv[BLOCK];
    tap_random_bytes(&j->random, key, sizeof key);
    tap_random_bytes(&j->random, iv, sizeof iv);
    struct stream s = stream_open_with(memory, j->row->name, key, iv, j->encrypt, NULL);
    j->right = stream_set_padding(&s, 0);
    for (size_t i = 0; i < j->updates && j->right; i++)
        j->right =
            stream_update(&s, j->least + tap_random_below(&j->random, j->longest - j->least + 1));
    stream_close(&s);
    free(memory);
    return 1;
}

int job_is_right(struct job *j)
{
    size_t pointer = sizeof j; /* NOLINT(bugprone-sizeof-expression): what is copied */
    return run_in_job(job_run, &j, pointer) && j->right;
}
