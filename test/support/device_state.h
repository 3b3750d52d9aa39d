/*
 * The state of the library's device, as the test's process sees it, and updates of the
 * application's memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_DEVICE_STATE_H
#define GPUAES_TEST_DEVICE_STATE_H

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/providers.h"
#include "test/support/tap.h"

enum gpuaes_state device_state(void);

/* Waits for a state, a minute at most. Returns 1 if it came. */
int device_becomes(enum gpuaes_state wanted);

/* ---- Updates of the application's memory ---------------------------------- */

/* A context of ours and one of the default provider, at the same place of the same text. */
struct pair {
    EVP_CIPHER_CTX *context[2];
    enum place from, to;
    unsigned char *in, *out, *plain, *got, *expected;
};

/* Ours works from memory of one kind to another, and `asks` for device memory or not. */
struct pair pair_open(const char *name, int encrypt, enum place from, enum place to, int asks,
                      size_t bytes);
void pair_close(struct pair *p);

/* Ours first, and then whether it has done the same as the other. */
int pair_update(struct pair *p, int bytes);

/* Of GCM: ends both messages, and returns 1 if their tags are the same. */
int pair_tags_agree(struct pair *p);

#endif
