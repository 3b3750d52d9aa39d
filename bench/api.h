/*
 * One call of libgpuaes as something to measure, and device memory that it is compared with.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_API_H
#define GPUAES_BENCH_API_H

#include "bench/buffers.h"
#include "bench/card.h"
#include "cuda/gpuaes.h"

struct call {
    enum gpuaes_op op;
    struct gpuaes_key key;
    unsigned char iv[16];
    const unsigned char *in;
    unsigned char *out;
    size_t length;
};

/* A call with a key of so many bits. */
struct call call_make(enum gpuaes_op op, unsigned bits, const unsigned char *in, unsigned char *out,
                      size_t length);

/* Makes the call `argument`, whatever the side; the program ends and says why if it fails. */
void call_run(int side, void *argument);

/* Ends the program, saying why, on any status but success. */
void call_check(enum gpuaes_status status, const char *what);

/*
 * Loads the providers, waits for the device and takes device memory: `most` bytes at most, half of
 * that and so on where there are not so many, and SPARE bytes. Returns 1, or 0 where there is no
 * device or memory, which it says of `part`.
 */
int device_memory_take(struct memory *memory, const char *part, size_t most);
enum { SPARE = 256 };

/* Copies within device memory, from in to out, and waits. */
void device_memory_copy(const struct memory *memory, size_t bytes);

#endif
