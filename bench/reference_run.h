/*
 * Running the kernels of published work, and AES-CTR with them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_REFERENCE_RUN_H
#define GPUAES_BENCH_REFERENCE_RUN_H

#include <stddef.h>

#include "bench/card.h"
#include "bench/references/references.h"

/* The kernels on the first device. */
struct reference {
    drv_module module;
    drv_stream stream;
    unsigned multiprocessors, most_threads; /* the latter: of a block */
    /* Of a multiprocessor: its threads and bytes of shared memory, and the bytes of the latter
       that each block takes in addition to those it asks for. */
    unsigned threads, shared, reserved;
};

/* Call after warm_up(). Returns 1, or 0 where there is no device or no kernels for it, which it
 * says of `part`. */
int reference_open(struct reference *reference, const char *part);
void reference_close(struct reference *reference);

/* Ends the program where there is none of that name. */
drv_function reference_function(const struct reference *reference, const char *name);

/* ---- CTR ---- */

enum { REFERENCE_KEY = 32 };
extern const unsigned char reference_key[REFERENCE_KEY];

/* A kernel, reference_ctr_NAME_ROUNDS, and its work. */
struct reference_ctr {
    struct launch launch;
    struct reference_ctr_arguments arguments;
};

/*
 * How it is run: a thread for each block of data, 256 to a block of threads, as in the
 * published work; or as many blocks of threads as the device holds at once.
 */
enum reference_shape { A_THREAD_A_BLOCK, RESIDENT, REFERENCE_SHAPES };

/* With the first bytes of reference_key, whose schedule the CPU makes. */
void reference_ctr_open(const struct reference *reference, struct reference_ctr *ctr,
                        const char *name, unsigned bits, unsigned shared, const void *in,
                        const void *out);

/* Launches it for so many bytes, a multiple of 16, of device memory; does not wait. */
void reference_ctr_run(const struct reference *reference, struct reference_ctr *ctr,
                       enum reference_shape shape, size_t length);

/* Ends the program, naming the kernel, unless two results are the same. */
void reference_compare(const char *kernel, const void *result, const void *expected, size_t length);

/* What the default provider makes of it: `expected` becomes the ciphertext of `in`. */
void reference_ctr_expect(unsigned bits, unsigned char *expected, const unsigned char *in,
                          size_t length);

#endif
