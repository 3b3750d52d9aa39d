/*
 * What the test programs of libgpuaes share: libcrypto's results to compare
 * with, memory of each kind, the application's own use of the driver, children.
 * They link the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_LIBRARY_H
#define GPUAES_TEST_LIBRARY_H

#include <openssl/evp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/key_size.h"
#include "cuda/driver/driver.h"
#include "cuda/emulator/hooks.h"
#include "cuda/gpuaes.h"
#include "test/support/tap.h"

/* Kernels take a hundred times as long: only what has threads of its own is done. */
#if defined(__SANITIZE_THREAD__)
enum { THREADS_ALONE = 1 };
#else
enum { THREADS_ALONE = 0 };
#endif

extern struct driver application; /* its own calls of the driver */
extern const char *const op_names[GPUAES_BATCH_OPS], *const kind_names[3];

/* ---- The reference ----------------------------------------------------------- */

const EVP_CIPHER *reference_cipher(enum gpuaes_op op, size_t key_bytes);

/* Leaves in `iv` what continues the stream. */
void reference(enum gpuaes_op op, const unsigned char *key, size_t key_bytes, unsigned char iv[16],
               const unsigned char *in, unsigned char *out, size_t len);

/* ---- Memory of each kind ------------------------------------------------------ */

void *take(int kind, size_t bytes);
void give(int kind, void *p, size_t bytes);

/* The application's own context, as a program that runs CUDA has it. */
void become_an_application(int device);

/*
 * Where settings name no time limit they get a long one: under a sanitizer, on a busy
 * machine, slow is not lost.
 */
void configure(const struct gpuaes_settings *settings);

/* NULL: with the defaults. */
int starts_with(const struct gpuaes_settings *settings);

/* ---- Calls ---------------------------------------------------------------------- */

/* A random key and IV, and what one call on random data should give. */
struct expected {
    struct gpuaes_key schedule;
    unsigned char key[32], iv[16], next_iv[16];
    unsigned char *plain, *cipher; /* input and output of the call */
};

void expect(struct expected *e, enum gpuaes_op op, size_t len);
void expected_free(struct expected *e);
size_t bytes_done(const struct gpuaes_report *report);

/*
 * What a caller without a device does with the rest of a call that ended with
 * `report`: 1 if the whole is right then.
 */
int finishes(const struct expected *e, enum gpuaes_op op, const struct gpuaes_report *report,
             const unsigned char *in, unsigned char *out, size_t len);

/* Runs `body` in a child, which must come from a process without a device; its status. */
int in_child(int (*body)(const void *), const void *argument);

/* An assertion: the body returns 0 in such a child. */
TAP_PRINTF(3, 4)
int child_ok(int (*body)(const void *), const void *argument, const char *format, ...);

#endif
