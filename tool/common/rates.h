/*
 * Rates of updates through EVP, our provider's and the default provider's in turns, and which
 * side did ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_RATES_H
#define GPUAES_TOOL_COMMON_RATES_H

#include <stddef.h>

#include "cuda/gpuaes.h"
#include "tool/common/library.h"

struct rates {
    const struct library *library;
    size_t most;              /* bytes of an update, at most */
    unsigned char *memory[2]; /* pageable, pinned; NULL: there is none */
};

enum rates_memory { RATES_PAGEABLE, RATES_PINNED };

enum { RATES_CTR, RATES_WORKS = 7 }; /* modes and directions, in the order of tables */
extern const char *const rates_works[RATES_WORKS];

struct rate {
    double ours, theirs; /* GB/s of input, medians; theirs: the default provider's or libcrypto's */
    int by_gpu;          /* most of ours */
};

/* What rates_print() measures. */
struct rates_plan {
    int skips[RATES_WORKS];
    const size_t *sizes; /* bytes of an update, ascending */
    int size_count;
    double seconds; /* for each rate */
};

/*
 * To be called before library_open(): the device is to start at once. Unless the environment
 * forbids it.
 */
void rates_want_device(void);

/* Waits for the device; 1, or 0 where there is none, and then why. */
int rates_wait_for_device(struct library *library, const char **why_not);

enum { RATES_TEXT = 160 };

/* Its name and what it has, in words. */
void rates_describe(const struct gpuaes_device_info *device, char text[RATES_TEXT]);

/* 0 where there is no memory for buffers. */
int rates_open(struct rates *rates, const struct library *library, size_t most);
void rates_close(struct rates *rates);

/* Measures for so many seconds; 1, or 0 where it cannot be done. */
int rates_measure(struct rates *rates, int work, enum rates_memory memory, size_t bytes,
                  double seconds, struct rate *rate);

/* Measures, and prints a table, or an array of JSON of this name. */
void rates_print(struct rates *rates, const struct rates_plan *plan, const char *json_name);

#endif
