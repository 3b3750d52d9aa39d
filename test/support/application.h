/*
 * CUDA as an application uses it concurrently with gpuaes: to allocate device memory,
 * to queue work, to look what is there. The same program runs on the emulator
 * that is built into the module under test, and on a card.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_APPLICATION_H
#define GPUAES_TEST_APPLICATION_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/driver/driver.h"

extern struct driver application;
extern void *application_library; /* where its functions are from */
extern int application_is_emulated;

/* The emulator's table, where the module in OPENSSL_MODULES is built on it. */
int application_emulated(void);
int application_real(void);

/*
 * A hook of test/emulator/hooks.h, which a test's driver has as well (faulty_driver.c);
 * NULL where the driver is another.
 */
void *application_hook(const char *name);

/* Options of the emulator from here on, which must take them; nothing where the driver has none. */
void emulate(const char *options);

/* What a hook of the emulator counts, which must have it; 0 where the driver is another. */
size_t application_count(const char *hook);

/* The same of a hook that counts calls or launches of what has that name; NULL: of all. */
unsigned application_count_of(const char *hook, const char *name);

/* Sets "NAME=VALUE NAME=VALUE"; NULL sets nothing. For what is loaded after it. */
void application_environment(const char *settings);

/*
 * LIBRARY(gpuaes_state)() calls a function of the library that the module has: on the emulator the
 * module itself, else the one in the module's folder.
 */
#define LIBRARY(name) ((__typeof__(name) *)(uintptr_t)library_function(#name))
void *library_function(const char *name);

/*
 * Makes the primary context of a device current, as the CUDA runtime does.
 * 1, or 0 where there is no such device.
 */
int application_begin(int ordinal);

/* ---- What holds a stream up --------------------------------------------------- */

/* What comes behind it on the stream waits until it is released. 1, or 0 if it failed. */
struct application_hold {
    atomic_int is_released;
};
int application_hold(drv_stream stream, struct application_hold *hold);
void application_release(struct application_hold *hold);

/* ---- Captures of graphs: not in the table, either -------------------------- */

/* In the mode that forbids most to other threads, too. 1, or 0 if it failed. */
int application_begin_capture(drv_stream stream);

/* Ends a capture and keeps the graph; 1, or 0 if it failed. Queues it; until then free it not. */
struct application_graph {
    void *graph, *executable; /* NULL: there is none */
};
int application_make_graph(drv_stream stream, struct application_graph *graph);
int application_run_graph(const struct application_graph *graph, drv_stream stream);
void application_free_graph(struct application_graph *graph);

/* The number of nodes of the graph, which is not kept; -1 where the capture was invalidated. */
int application_end_capture(drv_stream stream);

/* ---- Memory of any kind -------------------------------------------------- */

enum place { DEVICE, MANAGED, PINNED, PAGEABLE, PLACES };
extern const char *const place_names[PLACES];

unsigned char *application_alloc(enum place place, size_t bytes);
void application_free(enum place place, void *p);

/* Until all that is queued on the stream is done. 1, or 0 if something failed. */
int application_wait(drv_stream stream);

/* What an application would do by cuMemcpy. */
int application_write(enum place to_place, void *to, const void *from, size_t bytes);
int application_read(void *to, enum place from_place, const void *from, size_t bytes);

#endif
