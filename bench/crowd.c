/*
 * Threads of the default provider, each with a part of one message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/crowd.h"

#include <string.h>

#include "bench/card.h"
#include "bench/options.h"

static void do_part(const struct crowd *c, unsigned number)
{
    size_t blocks = c->length / GPUAES_BLOCK;
    size_t at = blocks * number / c->threads * GPUAES_BLOCK,
           end = blocks * (number + 1) / c->threads * GPUAES_BLOCK;
    for (size_t piece; at < end; at += piece) {
        int n;
        piece = end - at < GIB ? end - at : GIB; /* EVP counts in an int */
        if (!EVP_CipherUpdate(c->context[number], c->out + at, &n, c->in + at, (int)piece)) {
            ERR_print_errors_fp(stderr);
            exit(EXIT_FAILURE);
        }
    }
}

static void *member(void *argument)
{
    struct crowd *c = argument;
    unsigned number = __atomic_add_fetch(&c->ready, 1, __ATOMIC_RELAXED);
    for (;;) {
        pthread_barrier_wait(&c->begin);
        if (c->closing)
            return NULL;
        do_part(c, number);
        pthread_barrier_wait(&c->end);
    }
}

void crowd_open(struct crowd *c, unsigned threads, int encrypt)
{
    static const unsigned char key[32] = "the key of all measurements ...";
    EVP_CIPHER *cipher = fetch_reference(&providers, "AES-256-ECB");
    memset(c, 0, sizeof *c);
    c->threads = threads < CROWD_THREADS ? threads : CROWD_THREADS;
    card_check(pthread_barrier_init(&c->begin, NULL, c->threads), "pthread_barrier_init");
    card_check(pthread_barrier_init(&c->end, NULL, c->threads), "pthread_barrier_init");
    for (unsigned i = 0; i < c->threads; i++) {
        c->context[i] = EVP_CIPHER_CTX_new();
        if (!EVP_CipherInit_ex2(c->context[i], cipher, key, NULL, encrypt, NULL)) {
            ERR_print_errors_fp(stderr);
            exit(EXIT_FAILURE);
        }
        EVP_CIPHER_CTX_set_padding(c->context[i], 0);
    }
    for (unsigned i = 1; i < c->threads; i++)
        card_check(pthread_create(&c->thread[i], NULL, member, c), "pthread_create");
    EVP_CIPHER_free(cipher);
}

void crowd_close(struct crowd *c)
{
    c->closing = 1;
    pthread_barrier_wait(&c->begin);
    for (unsigned i = 1; i < c->threads; i++)
        (void)pthread_join(c->thread[i], NULL);
    for (unsigned i = 0; i < c->threads; i++)
        EVP_CIPHER_CTX_free(c->context[i]);
    pthread_barrier_destroy(&c->begin);
    pthread_barrier_destroy(&c->end);
}

void crowd_run(struct crowd *c)
{
    pthread_barrier_wait(&c->begin);
    do_part(c, 0);
    pthread_barrier_wait(&c->end);
}
