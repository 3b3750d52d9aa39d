/*
 * One loop for calls of libgpuaes: each function of the driver fails, once, at its first, a middle
 * and its last call, the device is lost there, or a kernel hangs. A row is a kind of work.
 *
 * A lost device is lost for good, so each fault is a child of its own. A child without a fault
 * counts the calls. GPUAES_TEST_EVERY=N takes one of N faults, by the seed others in each run
 * (under a sanitizer one of 8).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_FAULTY_CALLS_H
#define GPUAES_TEST_FAULTY_CALLS_H

#include "test/support/library.h"

struct faulty_call {
    const char *name;
    const void *row; /* of the test's own table */
    struct gpuaes_settings settings;
    const char *emulator;      /* options beside the fault; NULL: none */
    enum gpuaes_status wanted; /* without a fault */
    int is_queued; /* nothing waits for it: no kernel may hang, and each call of a function fails */
    int (*prepare)(const void *row); /* before calls are counted, with the device started; 1 */
    int (*run)(const void *row, int *status); /* 1 if the status that it reports is true */
    /* Once the driver works again, unless the device is given up; 1 if right. NULL: not tried. */
    int (*again)(const void *row, const char *fault);
    /* 1 if the call may return the status. */
    int (*knows)(const void *row, const char *fault, int status);
};

/* Two assertions: without a fault, and with all. */
void faulty_call_check(const struct faulty_call *c);

#endif
