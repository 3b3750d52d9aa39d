/*
 * Base64 of host memory by kernels as others wrote them, with copies of our own: which
 * the parts encoders and offload compare with libgpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_OFFLOAD_H
#define GPUAES_BENCH_OFFLOAD_H

#include "bench/buffers.h"
#include "bench/reference_run.h"

enum access { SCALAR, VECTOR, ACCESSES };
enum { OFFLOAD_STREAMS = 32 };

struct offload {
    struct reference reference;
    drv_function kernel[ACCESSES];
    unsigned threads; /* of a block */
    drv_stream stream[OFFLOAD_STREAMS];
    struct buffer device_in, device_out;
    /* What one turn does: */
    const unsigned char *in;
    unsigned char *out; /* room for its characters, and a NUL of libcrypto */
    size_t length;
    enum access access;
    unsigned streams; /* the input is cut for so many */
    int synchronous;  /* wait after each copy and launch */
};

/* Kernels, and device memory for `most` bytes of input; 0 where there are none, which it says of
 * `part`. */
int offload_open(struct offload *offload, size_t most, const char *part);
void offload_close(struct offload *offload);

/* Copies to the device, encodes, copies back, and waits. */
void offload_run(struct offload *offload);

/* Ends the program if what offload_run() made is not what libcrypto makes of the input's ends. */
void offload_check(const struct offload *offload);

/* Characters of so many bytes. */
static inline size_t base64_characters(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

#endif
