/*
 * Rates of updates through EVP, our provider's and the default provider's in turns, and which
 * side did ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_RATES_H
#define GPUAES_TOOL_COMMON_RATES_H

#include "cuda/gpuaes.h"
#include "tool/common/library.h"

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

/*
 * Measures for about so many seconds, and prints a table; of updates up to 256 KiB alone, if
 * `short_alone`. Returns 1, or 0 after a complaint where there is no memory for buffers.
 */
int rates_print(const struct library *library, int short_alone, double seconds);

#endif
