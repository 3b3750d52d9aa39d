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

int offload_measures(int is_for_device)
{
    /* Those settings want a device, or none, whatever it costs. */
    if (secure_getenv("GPUAES_POLICY") != NULL || secure_getenv("GPUAES_MIN_BYTES") != NULL ||
        secure_getenv("GPUAES_START") != NULL)
        return 0;
    /* It starts with a context for AES of the provider's, and not by what the provider counts. */
    (void)setenv("GPUAES_START", is_for_device ? "eager" : "never", 1);
    (void)setenv("GPUAES_START_BYTES", "9223372036854775807", 0);
    return is_for_device;
}

int offload_gains(const struct offload_figures *f)
{
    /* Of a GPU, measured on an H200's host: see docs/decisions/command-cpu-or-gpu.md. */
    static const double start_seconds = 0.35, exit_seconds = 0.1;
    /* What a thread still waits for the GPU. */
    static const double seconds_a_byte = 0.11e-9, seconds_a_piece = 20e-6;
    /* The estimate is rough: a gain of less than a tenth is none. */
    static const double enough = 0.9;
    double by_gpu = f->bytes * seconds_a_byte + f->pieces * seconds_a_piece;
    /* Threads that wait for a reader or writer that only one can be would just wait longer. */
    double saved = f->offloadable - by_gpu - f->waiting;
    double left = f->left >= 0 ? f->left : f->bytes; /* as much again */
    double on_cpu = left * f->seconds / f->bytes;
    if (saved <= 0 || on_cpu <= start_seconds)
        return 0;
    double all = f->threads * f->seconds;
    double afterwards = (on_cpu - start_seconds) * (saved < all ? 1 - saved / all : 0);
    return start_seconds + afterwards + exit_seconds < enough * on_cpu;
}

void offload_begin(struct offload *offload, const struct library *library, int measures,
                   unsigned threads, uint64_t total)
{
    *offload = (struct offload){.library = library, .total = total};
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
