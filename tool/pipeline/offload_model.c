/*
 * Whether a GPU would be done sooner.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/pipeline/offload_model.h"

/* Of a GPU, measured on an H200's host: see docs/decisions/command-cpu-or-gpu.md. */
static const double start_seconds = 0.35, exit_seconds = 0.1;
/* What a thread still waits for the GPU. */
static const double seconds_a_byte = 0.11e-9, seconds_a_piece = 20e-6;
/* The estimate is rough: a gain of less than a tenth is none. */
static const double enough = 0.9;

int offload_gains(const struct offload_figures *f)
{
    double by_gpu = f->bytes * seconds_a_byte + f->pieces * seconds_a_piece;
    /*
     * Where threads wait, for a reader or a writer that only one of them can be, they would just
     * wait longer.
     */
    double saved = f->offloadable - by_gpu - f->waiting;
    double left = f->left >= 0 ? f->left : f->bytes; /* as much again */
    double on_cpu = left * f->seconds / f->bytes;
    if (saved <= 0 || on_cpu <= start_seconds)
        return 0;
    double all = f->threads * f->seconds;
    double afterwards = (on_cpu - start_seconds) * (saved < all ? 1 - saved / all : 0);
    return start_seconds + afterwards + exit_seconds < enough * on_cpu;
}
