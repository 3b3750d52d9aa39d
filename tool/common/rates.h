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

enum { RATES_WORKS = 11 };
extern const char *const rates_works[RATES_WORKS]; /* modes and directions, as tables name them */

/* What rates_print() measures. */
struct rates_plan {
    int skips[RATES_WORKS];
    const size_t *sizes; /* bytes of an update, ascending */
    int size_count;
    double seconds; /* for all of them */
};

/*
 * To be called before library_open(): the device is to start at once. Unless the environment
 * forbids it.
 */
void rates_want_device(void);

/* Returns a sentence on the variable of the environment that forbids a device, or NULL. */
const char *rates_forbidden(void);

/* Waits for the device; 1, or 0 where there is none, and then why. */
int rates_wait_for_device(struct library *library, const char **why_not);

enum { RATES_TEXT = 192 };

/* The name of device `n`, what it has and what runs there, in words. */
void rates_describe(unsigned n, const struct gpuaes_device_info *device, char text[RATES_TEXT]);

/* Returns how many rows the table has: XTS has none for updates above 16 MiB. */
int rates_rows(const struct rates_plan *plan);

/*
 * Measures, and prints a table. Returns 1, or 0 after a complaint where there is no memory for
 * buffers.
 */
int rates_print(const struct library *library, const struct rates_plan *plan);

#endif
