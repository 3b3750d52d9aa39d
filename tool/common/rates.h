/*
 * Rates of updates through EVP, our provider's and the default provider's in turns, and which
 * side did ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_RATES_H
#define GPUAES_TOOL_COMMON_RATES_H

#include <stddef.h>

#include "tool/common/library.h"

struct rates {
    const struct library *library;
    size_t most;              /* bytes of an update, at most */
    unsigned char *memory[2]; /* pageable, pinned; NULL: there is none */
};

enum rates_memory { RATES_PAGEABLE, RATES_PINNED };

/* Modes and directions, in the order of tables. */
enum rates_work {
    RATES_CTR,
    RATES_ECB_ENCRYPT,
    RATES_ECB_DECRYPT,
    RATES_CBC_DECRYPT,
    RATES_CBC_ENCRYPT,
    RATES_BASE64_ENCODE,
    RATES_BASE64_DECODE,
    RATES_WORKS
};
struct rates_row {
    const char *name, *cipher;
    int encrypts, is_base64;
};
extern const struct rates_row rates_rows[RATES_WORKS];

struct rate {
    double ours, theirs; /* GB/s of input, medians; theirs: the default provider's or libcrypto's */
    int by_gpu;          /* most of ours */
};

/*
 * To be called before library_open(): the device is to start at once. Unless the environment
 * forbids it.
 */
void rates_want_device(void);

/* Waits for the device; 1, or 0 where there is none, and then why. */
int rates_wait_for_device(struct library *library, const char **why_not);

int rates_open(struct rates *rates, const struct library *library, size_t most);
void rates_close(struct rates *rates);

/* Prints one as an object of JSON, in the array that is open. */
void rates_print_json(enum rates_work work, enum rates_memory memory, size_t bytes,
                      const struct rate *rate);

/* Measures for so many seconds; 1, or 0 where it cannot be done. */
int rates_measure(struct rates *rates, enum rates_work work, enum rates_memory memory, size_t bytes,
                  double seconds, struct rate *rate);

#endif
