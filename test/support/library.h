/*
 * What the test programs of libgpuaes share: libcrypto's results to compare
 * with, memory of each kind, the application's own use of the driver, children.
 * They link the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_LIBRARY_H
#define GPUAES_TEST_LIBRARY_H

#include <sys/wait.h>
#include <unistd.h>

#include "base/key_size.h"
#include "cuda/driver/driver.h"
#include "cuda/gpuaes.h"
#include "test/emulator/hooks.h"
#include "test/support/reference.h"
#include "test/support/tap.h"

/* Kernels take a hundred times as long: only what has threads of its own is done. */
#if defined(__SANITIZE_THREAD__)
enum { THREADS_ALONE = 1 };
#else
enum { THREADS_ALONE = 0 };
#endif

/* Without tags: what reference() does. */
enum { PLAIN_OPS = GPUAES_CBC_ENCRYPT + 1 };

extern struct driver application; /* its own calls of the driver */
extern const char *const op_names[ALL_OPS], *const kind_names[3];

/* Those of gpuaes_aes(); the first STREAM_OPS are those of gpuaes_stream_binding_aes(). */
enum { SINGLE_OPS = 6, STREAM_OPS = 4 };
extern const enum gpuaes_op single_ops[SINGLE_OPS];

/* ---- The reference ----------------------------------------------------------- */

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

/* Any thread may call it: the random numbers are one thread's at a time. */
void expect(struct expected *e, enum gpuaes_op op, size_t len);
void expected_free(struct expected *e);
size_t bytes_done(const struct gpuaes_report *report);

/*
 * What a caller without a device does with the rest of a call that ended with
 * `report`: 1 if the whole is right then.
 */
int finishes(const struct expected *e, enum gpuaes_op op, const struct gpuaes_report *report,
             const unsigned char *in, unsigned char *out, size_t len);

/* One call on random data in host memory. */
struct work {
    enum gpuaes_op op;
    size_t len;
    int kind, in_place;
    const char *faults; /* options of the emulator from the call on; NULL: as they are */
};

/*
 * Makes the call and waits. Returns its status; or WORK_WRONG if that says OK and the output or the
 * IV is wrong, or if it says that the CPU can finish the rest, and the whole is wrong then.
 */
enum { WORK_WRONG = -1 };
int work_status(const struct work *w, struct gpuaes_report *report);

/* Encodes and decodes in host memory, and finds wrong characters; 1 if all is right. */
int base64_agrees(int kind, size_t len);

/* The same work as a message of a batch. */
struct gpuaes_message message_of(const struct expected *e, enum gpuaes_op op, const void *in,
                                 void *out, size_t len);

/*
 * Adds `count` messages that follow each other in arrays without gaps, of which `first` is the
 * first: text, and of GCM IVs, additional data and tags. 1 if all are accepted.
 */
int batch_adds(struct gpuaes_batch *batch, struct gpuaes_message first, size_t count);

/* Submits and waits; 1 if all of it is done. */
int batch_is_done(struct gpuaes_batch *batch);

/* 1 if memory of any kind has these bytes. */
int holds(const void *memory, const unsigned char *expected, size_t len);

/* Waits for a state, a minute at most. Returns 1 if it came. */
int library_becomes(enum gpuaes_state wanted);

/*
 * Starts with idle-seconds of 1. Returns 1 if the device is kept once hold() has returned 1 until
 * let_go() has, and is released then with all that it had.
 */
int is_kept(int (*hold)(void), int (*let_go)(void));

/* Runs `body` in a child, which must come from a process without a device; its status. */
int in_child(int (*body)(const void *), const void *argument);

/* An assertion: the body returns 0 in such a child. */
TAP_PRINTF(3, 4)
int child_ok(int (*body)(const void *), const void *argument, const char *format, ...);

/* Cases that need a process each: an assertion for each, that it returns 1 in such a child. */
struct child_case {
    const char *name;
    int (*run)(void);
};
void children_ok(const struct child_case *cases, size_t count);

#endif
