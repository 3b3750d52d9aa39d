/*
 * What the command line asks for and where the build is, known to every part.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_OPTIONS_H
#define GPUAES_BENCH_OPTIONS_H

#include <stddef.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

struct options {
    int quick;            /* measure little: the figures mean nothing */
    double seconds;       /* time for one row, both sides together */
    const char *revision; /* the file that names the revision that was built */
};
extern struct options options;

#endif
