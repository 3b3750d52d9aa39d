/*
 * What a fault of the driver interrupts: one row for each way that work takes through
 * the library. Each compares what it gets with the default provider, through EVP alone.
 *
 * To add one, write a row, and a function where none of those here does it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_FAULT_SCENARIOS_H
#define GPUAES_TEST_FAULT_SCENARIOS_H

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/jobs.h"
#include "test/support/providers.h"
#include "test/support/read_ahead_streams.h"

enum verdict { GOOD, REFUSED, WRONG };

/* When a scenario may refuse, with one of the reasons that are known. */
enum refusal {
    NEVER,
    IF_IT_HANGS, /* the device may still write to the output */
    IN_PLACE,    /* and it may have overwritten input, too */
    ON_DEVICE    /* no other side could do it */
};

struct scenario {
    const char *name;
    const char *settings;                     /* of the provider: "GPUAES_A=1 GPUAES_B=2" */
    const char *emulator;                     /* options in addition to the fault */
    int (*prepare)(const struct scenario *s); /* before calls are counted; 1 */
    enum verdict (*run)(const struct scenario *s);
    int (*check)(void); /* once the driver works again; NULL: nothing is left to check */
    /* Updates of so much, of 64 bytes, and of a fourth of it, 64 KiB at most. */
    const char *cipher;
    size_t bytes;
    int encrypt, in_place;
    enum place place;
    enum refusal refusal;
    int is_of_four; /* rows that differ in the mode alone: a function fails in one of them */
};

enum { ODD = 5 };
extern const unsigned char fault_key[32], fault_iv[16];
extern uint64_t given; /* bytes of updates that succeeded, as the statistics should have them */

/* ---- Updates of host memory ------------------------------------------------------- */

/* Input, output and what is expected of the updates one after the other. */
struct update {
    size_t length[3], total;
    unsigned char *in, *out, *expected;
};
extern struct update the_update;

EVP_CIPHER_CTX *open_context(const struct scenario *s, int ours, const OSSL_PARAM *params);

/* Ordinary work, which must be right at any time after any fault. */
int work_as_usual(void);

/* Waits until the idle device is released, that many seconds at most; 1 if it is. */
int is_released(int seconds);

/* Of the scenarios that are read ahead of, and of those with updates of host memory. */
enum verdict run_stream(const struct scenario *s);
enum verdict run_update(const struct scenario *s);

enum { SCENARIOS = 32, STAGED_BYTES = 300000 };
extern const struct scenario scenarios[SCENARIOS];

#endif
