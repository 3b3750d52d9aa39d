/*
 * The card as an application uses it concurrently with gpuaes: CUDA of its own, for memory and for
 * copies. All but card_begin() and card_load() end the program on an error.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_CARD_H
#define GPUAES_BENCH_CARD_H

#include <stdint.h>

#include "cuda/driver/driver.h"

/*
 * Makes a device's primary context current in the calling thread. Returns 1, or 0 where
 * there is no such device. Not from several threads at once for the first time.
 */
int card_begin(int ordinal);

/* The driver's functions, after card_begin(). */
const struct driver *card(void);

/* Loads kernels. Returns 1, or 0 where `image` is NULL, or none for this device: the emulator. */
int card_load(drv_module *module, const void *image);

/* A new stream of the current context. */
drv_stream card_stream(void);

/* Waits, without sleeping, until a stream has done its work. */
void card_wait(drv_stream stream);

/* Queue copies from the host to the device, back, and within the device; and zeros. */
void card_up(void *device, const void *host, size_t bytes, drv_stream stream);
void card_down(void *host, const void *device, size_t bytes, drv_stream stream);
void card_copy(void *to, const void *from, size_t bytes, drv_stream stream);
void card_zero(void *device, size_t bytes, drv_stream stream);

/*
 * Events with time. card_has_time() tells whether the driver has what reads it: that of the
 * emulator does not.
 */
int card_has_time(void);
drv_event card_event(void);
void card_record(drv_event event, drv_stream stream);
double card_seconds(drv_event begin, drv_event end);
void card_end(drv_event event);

/* Ends the program, saying what failed, on any result but success. */
void card_check(drv_result result, const char *what);

static inline drv_ptr card_address(const void *p)
{
    return (drv_ptr)(uintptr_t)p;
}

#endif
