/*
 * The two sides of a measurement through EVP: ours and the default provider, and
 * the device behind ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_SIDES_H
#define GPUAES_BENCH_SIDES_H

#include "base/key_size.h"
#include "bench/rows.h"
#include "cuda/gpuaes.h"
#include "test/support/providers.h"

/* Loads them, and waits until the device can be used, or cannot. */
void warm_up(void);

/* Why there is no device, as a sentence. */
const char *no_device(void);

/* Warms up and makes the first device current; returns 1, or 0 where there is none, which it says
 * of `part`. */
int device_begin(const char *part);

/*
 * What a row is compared with, and the version of OpenSSL, since newer ones are several
 * times faster: "default provider, OpenSSL 3.0.13". Static storage, valid until
 * the next call.
 */
const char *of_openssl(const char *what);

/*
 * The modes of AES, a row for each direction: the ciphers by the size of their keys, and what
 * libgpuaes calls it. Those from PARALLEL_MODES on are serial: the CPU does their updates, and
 * devices have them in batches alone.
 */
struct mode_row {
    const char *cipher[KEY_SIZES];
    int encrypt;
    enum gpuaes_op op;
};
enum mode_number {
    MODE_CTR,
    MODE_ECB_ENCRYPT,
    MODE_ECB_DECRYPT,
    MODE_CBC_DECRYPT,
    PARALLEL_MODES,
    MODE_CBC_ENCRYPT = PARALLEL_MODES,
    MODE_ROWS
};
extern const struct mode_row mode_rows[MODE_ROWS];

static inline const char *mode_cipher(const struct mode_row *mode, unsigned bits)
{
    return mode->cipher[key_size_index(bits / 8)];
}

static inline const char *direction(int encrypt)
{
    return encrypt ? "encrypt" : "decrypt";
}

/* row_of() the mode's cipher and direction. */
static inline struct row aes_row(const char *part, const struct mode_row *mode, unsigned bits,
                                 const char *memory, size_t bytes)
{
    return row_of(part, mode_cipher(mode, bits), direction(mode->encrypt), memory, bytes);
}

/* The sides' contexts for one cipher, without padding, and the memory of each. */
struct pair {
    EVP_CIPHER_CTX *context[SIDES];
    unsigned char *in[SIDES], *out[SIDES];
    size_t length, calls; /* of one update; updates in a turn */
};

/* Ends the program where a cipher cannot be fetched. */
void pair_open(struct pair *pair, const char *cipher, int encrypt);
void pair_close(struct pair *pair);

/* The same memory on both sides. */
void pair_memory(struct pair *pair, unsigned char *in, unsigned char *out);

/* Says that updates of our side have device memory. */
void pair_device_memory(struct pair *pair);

/*
 * A turn_fn of a pair: the updates of one side. Ends the program where one
 * fails. Updates above 1 GiB are made in pieces, since EVP counts in an int.
 */
void pair_updates(int side, void *pair);

/* As many messages of an update each: with an IV alone, or with a new context. Each is a
 * turn_fn, and ends the program where a call fails. */
void pair_new_ivs(int side, void *pair);
void pair_new_contexts(int side, void *pair);

/* The side that did it, by the bytes that the device is said to have done since `before`. */
const char *processor_since(const struct figures *before, double bytes);

/* Measures, and names in the row the side that did it; `bytes`: of ours in a turn. */
struct result measure_evp(struct row *row, size_t most, turn_fn *measured, void *argument,
                          double bytes);

/* A figure of the provider by its name; 0 where it has none. */
uint64_t provider_figure(const char *name);

#endif
