/*
 * Whether the work of a pipeline moves from the CPU to a GPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/pipeline/offload.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Pieces of each thread before the first look: the first ones touch fresh memory. */
enum { FIRST_LOOK = 8 };

/* For tests: the result of all looks. */
static int is_told(const char *answer)
{
    const char *is = secure_getenv("GPUAES_TEST_OFFLOAD");
    return is != NULL && strcmp(is, answer) == 0;
}

void offload_begin(struct offload *offload, const struct library *library, int measures,
                   unsigned threads, uint64_t total)
{
    *offload = (struct offload){.library = library, .threads = threads, .total = total};
    offload->chosen = !measures || library->gpuaes == NULL;
    offload->next_pieces = (double)threads * FIRST_LOOK;
    offload->figures.threads = threads;
    offload->begun = clock_seconds(CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&offload->lock, NULL);
}

static void look(struct offload *offload)
{
    struct offload_figures *f = &offload->figures;
    f->seconds = clock_seconds(CLOCK_MONOTONIC) - offload->begun;
    f->left = offload->total != UINT64_MAX ? (double)offload->total - f->bytes : -1;
    /* Less often as time goes by. */
    offload->next_pieces = 2 * f->pieces;
    if (is_told("no") || (!is_told("yes") && !offload_gains(f)))
        return;
    library_start_device(offload->library);
    atomic_store_explicit(&offload->chosen, 1, memory_order_release);
}

void offload_count(struct offload *offload, uint64_t bytes, double offloadable, double waiting)
{
    if (offload_is_chosen(offload))
        return;
    (void)pthread_mutex_lock(&offload->lock);
    offload->figures.bytes += (double)bytes;
    offload->figures.pieces++;
    offload->figures.offloadable += offloadable;
    offload->figures.waiting += waiting;
    if (offload->figures.pieces >= offload->next_pieces && !offload_is_chosen(offload))
        look(offload);
    (void)pthread_mutex_unlock(&offload->lock);
}

int offload_is_chosen(const struct offload *offload)
{
    return atomic_load_explicit(&offload->chosen, memory_order_acquire);
}
