/*
 * The card as an application uses it concurrently with gpuaes: CUDA of its own, for memory, for
 * copies, and for the kernels of the benchmark.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_CARD_H
#define GPUAES_BENCH_CARD_H

#include <stdint.h>

#include "cuda/driver/driver.h"

/*
 * Makes a device's primary context current in the calling thread. 1, or 0 where
 * there is no such device. Not from several threads at once for the first time.
 */
int card_begin(int ordinal);

/* The driver's functions, after card_begin(). */
const struct driver *card(void);

/*
 * Loads kernels of the benchmark's own. On the emulator, whatever the image: it has them
 * all. 1, or 0 where there is no image, or none for this device.
 */
int card_module(drv_module *module, const void *image);

int card_attribute(int attribute, int ordinal);

/* A new stream of the current context. Ends the program on an error. */
drv_stream card_stream(void);

/* Waits, without sleeping, until a stream has done its work. Ends the program on an error. */
void card_wait(drv_stream stream);

/* Ends the program, saying what failed, on any result but success. */
void card_check(drv_result result, const char *what);

static inline drv_ptr card_address(const void *p)
{
    return (drv_ptr)(uintptr_t)p;
}

#endif
