/*
 * One call of libgpuaes as something to measure, compared with a copy of the same
 * bytes within device memory, or with another call.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_API_H
#define GPUAES_BENCH_API_H

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
struct call call_make(enum gpuaes_op op, unsigned bits);

/* Makes it; GPUAES_OK, or the program ends and says why. */
void call_run(struct call *call);

/*
 * Device memory for `most` bytes at most, less where there is not so much (but
 * never an odd number of blocks): two buffers with some bytes to spare, and a
 * stream for copies between them.
 */
struct device_memory {
    unsigned char *in, *out;
    size_t bytes;
    drv_stream stream;
};
enum { SPARE = 256 };

/* 1, or 0 where there is no device, which it says of `part`. */
int device_memory_open(struct device_memory *memory, size_t most, const char *part);
void device_memory_close(struct device_memory *memory);

/* Copies from in to out and waits. */
void device_memory_copy(const struct device_memory *memory, size_t bytes);

#endif
