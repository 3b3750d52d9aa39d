/*
 * Streams for the tests of read-ahead: one of CTR can be run until keystream of the device is used
 * for it.
 *
 * A device is only so fast (the emulator: some 20 MB/s) and a stream that outruns
 * it is the CPU's; so one that is to be served is paced.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_READ_AHEAD_STREAMS_H
#define GPUAES_TEST_READ_AHEAD_STREAMS_H

#include "test/support/compared.h"

enum { SOME = 300 * KIB /* more than the first segment */ };

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

/* ---- Pace --------------------------------------------------------------------- */

enum { PACED = 8 * KIB, LIMIT_SECONDS = 100, LIMIT_SANITIZED = 200, SLOWEST_MS = 200 };

void slow_down(void);

/*
 * Waits where a segment has just been used up, so that the next ones are made when
 * they are wanted. One that was late is waited for, too; the first of a ring is bound
 * to be.
 */
void keep_pace(const struct ahead *before, const struct ahead *now, int *underruns);

/*
 * Goes on, in calls as this one, until keystream of the device has been used for
 * `more` bytes of it; 1 if all was right and that came about.
 */
int stream_served_by(struct stream *s, size_t more, const struct call *call);
int stream_served(struct stream *s, size_t more);

/* An open stream that is being read ahead of. */
int stream_begin(struct stream *s, struct memory *memory, const char *name);

#endif
