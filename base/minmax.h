/*
 * The smaller and the larger of two numbers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_MINMAX_H
#define GPUAES_MINMAX_H

#include <stdint.h>

/* Also for size_t, which has 64 bits wherever CUDA is. */
static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* For a limit that has fewer bits. */
static inline unsigned min_unsigned(uint64_t a, unsigned b)
{
    return a < b ? (unsigned)a : b;
}

/* fmin() and fmax() would bring libm along. */
static inline double min_double(double a, double b)
{
    return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
    return a > b ? a : b;
}

#endif
