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

static EVP_CIPHER_CTX *job_context(int ours, const struct job *j, const unsigned char *key,
                                   const unsigned char *iv)
{
    EVP_CIPHER_CTX *context = context_open(ours, j->row->name, key, iv, j->encrypt, NULL);
    EVP_CIPHER_CTX_set_padding(context, 0); /* random bytes have none */
    return context;
}

static int job_run(void *argument)
{
    struct job *j = *(struct job **)argument;
    unsigned char key[32], iv[16];
    tap_random_bytes(&j->random, key, sizeof key);
    tap_random_bytes(&j->random, iv, sizeof iv);
    EVP_CIPHER_CTX *ours = job_context(1, j, key, iv);
    EVP_CIPHER_CTX *reference = job_context(0, j, key, iv);
    unsigned char *in = malloc(j->longest), *out = malloc(j->longest + 16),
                  *expected = malloc(j->longest + 16);
    j->right = 1;
    for (size_t i = 0; i < j->updates && j->right; i++) {
        size_t bytes = j->least + tap_random_below(&j->random, j->longest - j->least + 1);
        int n = 0, m = 0;
        tap_random_bytes(&j->random, in, bytes);
        j->right = EVP_CipherUpdate(reference, expected, &m, in, (int)bytes) &&
                   EVP_CipherUpdate(ours, out, &n, in, (int)bytes) && n == m &&
                   memcmp(out, expected, (size_t)n) == 0;
    }
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    free(in);
    free(out);
    free(expected);
    return 1;
}

int job_is_right(struct job *j)
{
    size_t pointer = sizeof j; /* NOLINT(bugprone-sizeof-expression): what is copied */
    return run_in_job(job_run, &j, pointer) && j->right;
}
