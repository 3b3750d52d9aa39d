/*
 * Streams, ours compared with the default provider's: a stream is a context of each, and both get
 * the same calls. A call is compared in its result, its first error and its bytes, with what lies
 * around them. Each function returns 1 if both sides agree; else standard error says in what not.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_COMPARED_H
#define GPUAES_TEST_COMPARED_H

#include <openssl/core_names.h>

#include "test/support/application.h"
#include "test/support/providers.h"

enum { KIB = 1 << 10, MIB = 1 << 20, BLOCK = 16, EDGE = 256, LONGEST = 2 * MIB };
enum { OURS, REFERENCE, SIDES };

/* What one thread works in, for all of its streams: a single block for free(). */
struct memory {
    unsigned char *in[SIDES], *out[SIDES], *text;
    /* Where our side's input and output lie; PAGEABLE: in those above. */
    enum place in_place, out_place;
    unsigned char *in_there, *out_there;
};

/* For calls of LONGEST bytes, or of so many. */
struct memory *memory_new(uint64_t seed);
struct memory *memory_for(uint64_t seed, size_t longest);

struct stream {
    EVP_CIPHER_CTX *side[SIDES];
    struct memory *memory;
    size_t run;                  /* bytes since the last change of course */
    size_t held;                 /* bytes taken and not given back */
    int broken;                  /* the last call has failed, or ended the message */
    unsigned char *iv[2][SIDES]; /* pointers to the updated and the original IVs, or NULL */
};

extern const unsigned char usual_key[32], usual_iv[BLOCK], other_iv[BLOCK];

/* It encrypts, and lies in the memory. */
struct stream stream_open(struct memory *memory, const char *name, const unsigned char *key,
                          const unsigned char *iv);

/* The same in either direction, where our side may have parameters of its own. */
struct stream stream_open_with(struct memory *memory, const char *name, const unsigned char *key,
                               const unsigned char *iv, int encrypt, const OSSL_PARAM *ours);
void stream_close(struct stream *s);

/* Key, IV or both may be NULL, as for EVP. A direction of -1 stays. */
int stream_init(struct stream *s, const unsigned char *key, const unsigned char *iv, int encrypt);

/* The same with ciphers, if not NULL, and parameters. */
int stream_init_with(struct stream *s, EVP_CIPHER *const ciphers[SIDES], const unsigned char *key,
                     const unsigned char *iv, int encrypt, const OSSL_PARAM *params);

/* `to` may be open: it is what EVP frees before it copies. */
int stream_copy(struct stream *to, const struct stream *from);
int stream_set(struct stream *s, const OSSL_PARAM *params);
int stream_set_padding(struct stream *s, unsigned padding);
int stream_final(struct stream *s);

/* 1 if both sides tell the same IVs and `num`. */
int stream_agrees(const struct stream *s);

/* ---- Pointers to IVs -------------------------------------------------------------- */

enum { UPDATED, ORIGINAL };

/* Asks for one, which is where it was before. From then on each call compares what they show. */
int stream_hold_iv(struct stream *s, int which);
void stream_write_iv(struct stream *s, const unsigned char iv[BLOCK]);

/* ---- Data ------------------------------------------------------------------------- */

enum way { UPDATE, ONE_SHOT };

struct call {
    enum way way;
    size_t length;
    int out_of_place;       /* else the output lies `distance` bytes from the input */
    unsigned in_at, out_at; /* bytes off a round address; out_at only when out of place */
    int distance;
    const unsigned char *from; /* input; NULL: the memory's text */
};

int stream_call(struct stream *s, const struct call *call);
int stream_update(struct stream *s, size_t length);

/*
 * An update of what lies `from` bytes into the memory's text, which our side has on a device, to
 * `to` bytes into the output: the bytes are compared by stream_queued_is_right(), once all that is
 * on the CUDA stream is done, from the output's beginning.
 */
int stream_update_queued(struct stream *s, size_t from, size_t to, size_t length);
int stream_queued_is_right(const struct stream *s, drv_stream cuda, size_t length);

/* `length` bytes in updates of `piece`, as fast as they go. */
int stream_hurry(struct stream *s, size_t length, size_t piece);

#endif
