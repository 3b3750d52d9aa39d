/*
 * Batches of several threads at once, each with several under way. For
 * ThreadSanitizer too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/mixes.h"

enum { WORKERS = 4, EACH = 2, ROUNDS = 3 };

struct worker {
    pthread_t thread;
    struct mix mix[EACH];
    int right;
};
static struct worker workers[WORKERS];

static void *work(void *argument)
{
    struct worker *w = argument;
    struct gpuaes_batch *batch[EACH];
    w->right = 1;
    for (int i = 0; i < EACH; i++)
        w->right &= gpuaes_batch_open(&batch[i]) == GPUAES_OK;
    for (int round = 0; round < ROUNDS && w->right; round++) {
        for (int i = 0; i < EACH; i++) {
            mix_fill(&w->mix[i]);
            w->right &= mix_add(batch[i], &w->mix[i]) &&
                        gpuaes_batch_submit(batch[i], GPUAES_WAIT) == GPUAES_OK;
        }
        enum gpuaes_status status;
        while ((status = gpuaes_batch_poll(batch[EACH - 1])) == GPUAES_BUSY)
            usleep(100);
        w->right &= status == GPUAES_OK;
        for (int i = 0; i < EACH; i++) {
            w->right &= gpuaes_batch_wait(batch[i]) == GPUAES_OK && mix_is_right(&w->mix[i]);
            gpuaes_batch_reset(batch[i]);
        }
    }
    for (int i = 0; i < EACH; i++)
        gpuaes_batch_close(batch[i]);
    return NULL;
}

int main(void)
{
    int right = 1;
    tap_random_seed(&random_state);
    become_an_application(0);
    tap_ok(starts_with(NULL), "the device starts");
    for (int i = 0; i < WORKERS * EACH; i++) {
        struct mix_rules rules = {.in_kind = i % 3, (i + i / 3) % 3, 0, 20, 60, -1, 3, 0};
        right &= mix_make(&workers[i / EACH].mix[i % EACH], &rules);
    }
    tap_ok(right, "there is memory for all");
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        tap_ok(workers[i].right, "thread %d", i);
    }
    return tap_done();
}
