/*
 * The two sides of a measurement through EVP: ours and the default provider, and
 * the device behind ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_SIDES_H
#define GPUAES_BENCH_SIDES_H

#include "bench/measure.h"
#include "cuda/gpuaes.h"
#include "test/support/providers.h"

/* Loads them, and waits until the device can be used, or cannot. */
void warm_up(void);

/* Why there is no device, as a sentence. */
const char *no_device(void);

/*
 * What a row is compared with, and the version of OpenSSL, since newer ones are several
 * times faster: "default provider, OpenSSL 3.0.13". Static storage, valid until
 * the next call.
 */
const char *of_openssl(const char *what);

/* The name of a mode and direction, and what each interface calls it. */
struct mode_row {
    const char *mode;
    int encrypt;
    enum gpuaes_op op;
};
enum { MODE_ROWS = GPUAES_OPS };
extern const struct mode_row mode_rows[MODE_ROWS];

static inline const char *direction(int encrypt)
{
    return encrypt ? "encrypt" : "decrypt";
}

/* The sides' contexts for one cipher, without padding, and the memory of each. */
struct pair {
    EVP_CIPHER_CTX *context[SIDES];
    unsigned char *in[SIDES], *out[SIDES];
    size_t length, calls; /* of one update; updates in a turn */
};

/* Ends the program where a cipher is not to be had. */
void pair_open(struct pair *pair, const char *cipher, int encrypt);
void pair_close(struct pair *pair);

/* The same memory on both sides. */
void pair_memory(struct pair *pair, unsigned char *in, unsigned char *out);

/*
 * A turn_fn of a pair: the updates of one side. Ends the program where one
 * fails. Updates above 1 GiB are made in pieces, since EVP counts in an int.
 */
void pair_updates(int side, void *pair);

/* The side that did it, by the bytes that the device is said to have done since `before`. */
const char *processor_since(const struct figures *before, double bytes);

/* A figure of the provider by its name; 0 where it has none. */
uint64_t provider_figure(const char *name);

#endif
