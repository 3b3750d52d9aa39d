/*
 * What the tests of the ciphers have in common: the provider under test and the
 * default provider, each in a library context of its own; the figures that ours
 * keeps; the first error of the queue.
 *
 * OPENSSL_MODULES names the folder of the gpuaes.so to test. With
 * GPUAES_TEST_PROVIDER=default the default provider stands in for ours, which
 * tests the test: all must pass, and what asks for figures is skipped.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_PROVIDERS_H
#define GPUAES_TEST_PROVIDERS_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include "test/support/tap.h"

enum mode { ECB, CBC, CTR, XTS, GCM };

struct cipher_row {
    const char *name, *oid;
    enum mode mode;
    unsigned key_bytes;
};

/*
 * The ciphers, one row each: CIPHER_ROWS of streams and blocks, then XTS, and GCM behind
 * UNTAGGED_ROWS. CTR has no object identifier.
 */
enum { CIPHER_ROWS = 9, UNTAGGED_ROWS = 11, ALL_ROWS = 14, LONGEST_KEY = 64 };
extern const struct cipher_row cipher_rows[ALL_ROWS];

struct providers {
    OSSL_LIB_CTX *ours, *reference;
    OSSL_PROVIDER *gpuaes; /* NULL where the default provider stands in */
    OSSL_PROVIDER *ours_default, *reference_default;
    const char *properties; /* that fetch ours in `ours` */
};

/* Those of the program, for what is loaded once. */
extern struct providers test_providers;

/* 1 if the default provider stands in for ours. */
int stand_in(void);

/* Loads both sides or ends the program, which is what prove then shows. */
struct providers providers_load(void);
void providers_unload(struct providers *p);

EVP_CIPHER *fetch_ours(const struct providers *p, const char *name);

EVP_CIPHER *fetch_reference(const struct providers *p, const char *name);

/* A context of a cipher of ours, or of the default provider's; NULL if the queue says why not. */
EVP_CIPHER_CTX *context_open(int ours, const char *name, const unsigned char *key,
                             const unsigned char *iv, int encrypt, const OSSL_PARAM *params);

/* A function of a provider's dispatch tables, and the pointer to it that is to be set. */
struct wanted_function {
    int id;
    void *pointer;
};

/* Finds those of an algorithm, up to an id of 0. Returns 1 if it has all of them. */
int functions_find(OSSL_PROVIDER *provider, int operation, const char *name,
                   const struct wanted_function *wanted);

/*
 * One update of each side, without padding, from fresh contexts: 1 if ours does what the default
 * provider's does. `out` may be `in`.
 */
int update_agrees(const struct providers *p, const char *name, int encrypt, unsigned char *in,
                  unsigned char *out, size_t length);

/* The same in memory of its own, encrypting. */
int message_agrees(const struct providers *p, const char *name, size_t length);

/* The figures of the whole process; see provider-gpuaes(7). */
struct figures {
    uint64_t gpu_bytes, cpu_bytes, launches, faults, start_ms;
};

struct figures figures_get(const struct providers *p);

/* One of them by its name; 0 where the default provider stands in, UINT64_MAX if it is not given.
 */
uint64_t figure(const char *name);

/* The first error of the queue as library and reason, 0 if there is none; empties the queue. */
unsigned long first_error(void);

/*
 * Whether the call that failed just now said so: that is the newest error. Older ones may be of
 * calls that succeeded, such as the default provider's EVP_CIPHER_CTX_get_updated_iv() in 3.5.
 */
int reason_is(const char *text);

#endif
