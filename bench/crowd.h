/*
 * All of the CPU on one message: threads of the default provider, each with a part.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_CROWD_H
#define GPUAES_BENCH_CROWD_H

#include <pthread.h>

#include "bench/sides.h"

enum { CROWD_THREADS = 512 };

struct crowd {
    unsigned threads; /* the caller's included */
    pthread_t thread[CROWD_THREADS];
    pthread_barrier_t begin, end;
    EVP_CIPHER_CTX *context[CROWD_THREADS];
    unsigned ready; /* threads that know their number */
    int closing;
    /* The message: */
    const unsigned char *in;
    unsigned char *out;
    size_t length; /* whole blocks */
};

/* Of AES-256-ECB. */
void crowd_open(struct crowd *crowd, unsigned threads, int encrypt);
void crowd_close(struct crowd *crowd);

/* Encrypts or decrypts the message, and waits. */
void crowd_run(struct crowd *crowd);

#endif
