/*
 * CTR streams, ours compared with the default provider's, for the tests of read-ahead:
 * every call is compared in its result, its bytes and what lies around them, and
 * a stream can be run until keystream of the device is used for it.
 *
 * A device is only so fast (the emulator: some 20 MB/s) and a stream that outruns
 * it is the CPU's; so one that is to be served is paced.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_READ_AHEAD_STREAMS_H
#define GPUAES_TEST_READ_AHEAD_STREAMS_H

#include <openssl/core_names.h>
#include <unistd.h>

#include "test/support/providers.h"

enum {
    KIB = 1 << 10,
    MIB = 1 << 20,
    BLOCK = 16,
    EDGE = 256,
    LONGEST = 2 * MIB,
    SOME = 300 * KIB /* more than the first segment */
};
enum { OURS, REFERENCE, SIDES };

/* After so many bytes under one key and IV a stream is read ahead of. */
enum { BEGINS_AFTER = MIB };

/* ---- What the provider says of itself ----------------------------------------- */

struct ahead {
    uint64_t bytes, underruns, faults, launches, gpu, cpu, pinned, pinned_peak;
};

struct ahead ahead_get(void);

/* ---- The device --------------------------------------------------------------- */

/* Asking counts as work of the device. */
uint64_t devices_in_use(void);

/* Creates a context, which is what start=eager waits for; 1 once the device is there. */
int ahead_start(long most_ms);

/*
 * A fixed min-bytes takes the measurement out of the choice. Loads both sides and
 * starts the device; returns whether it is there.
 */
int ahead_begin(void);

/* ---- Streams ------------------------------------------------------------------ */

/* What one thread works in, for all of its streams. */
struct memory {
    unsigned char in[SIDES][LONGEST + 2 * EDGE], out[SIDES][LONGEST + 2 * EDGE];
    unsigned char text[LONGEST + 2 * EDGE];
};

struct stream {
    EVP_CIPHER_CTX *side[SIDES];
    struct memory *memory;
    size_t run; /* bytes since the last change of course */
};

struct memory *memory_new(uint64_t seed);

/* Key, IV or both may be NULL, as for EVP. A direction of -1 stays. */
int stream_init(struct stream *s, const unsigned char *key, const unsigned char *iv, int encrypt);
void stream_close(struct stream *s);

extern const unsigned char usual_key[32], usual_iv[BLOCK], other_iv[BLOCK];

struct stream stream_open(struct memory *memory, const char *name, const unsigned char *key,
                          const unsigned char *iv);

/* `to` may be open: it is what EVP frees before it copies. */
int stream_copy(struct stream *to, const struct stream *from);

/* Returns 1 if both sides take the parameters, or neither does. */
int stream_set(struct stream *s, const OSSL_PARAM *params);
int stream_final(struct stream *s);

/* 1 if both sides tell the same IVs and `num`. */
int stream_agrees(const struct stream *s);

/* ---- Data --------------------------------------------------------------------- */

enum way { UPDATE, ONE_SHOT };

struct call {
    enum way way;
    size_t length;
    int apart;              /* else the output lies `distance` bytes from the input */
    unsigned in_at, out_at; /* bytes off a round address; out_at only when apart */
    int distance;
};

/* The whole memory, around the buffers too: a stray byte is as wrong as a bad one. */
int same_memory(struct memory *m, const struct call *call);
int stream_call(struct stream *s, const struct call *call);
int stream_update(struct stream *s, size_t length);

/* `length` bytes in updates of `piece`, as fast as they go. */
int stream_hurry(struct stream *s, size_t length, size_t piece);

/* ---- Pace --------------------------------------------------------------------- */

enum { PACED = 8 * KIB, LIMIT_SECONDS = 100, LIMIT_SANITIZED = 200, SLOWEST_MS = 200 };

void slow_down(void);

/*
 * Waits where a segment has just been used up, so that the next ones are made when
 * they are wanted. One that was late is waited for, too; the first of a ring is bound
 * to be.
 */
void keep_pace(const struct ahead *before, const struct ahead *now, int *lates);

/*
 * Goes on, in calls as this one, until keystream of the device has been used for
 * `more` bytes of it; 1 if all was right and that came about.
 */
int stream_served_by(struct stream *s, size_t more, const struct call *call);
int stream_served(struct stream *s, size_t more);

/* An open stream that is being read ahead of. */
int stream_begin(struct stream *s, struct memory *memory, const char *name);

#endif
