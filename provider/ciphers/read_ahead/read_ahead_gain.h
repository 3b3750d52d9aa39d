/*
 * Whether reading ahead is faster than the CPU's CTR, as was observed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_READ_AHEAD_READ_AHEAD_GAIN_H
#define GPUAES_PROVIDER_CIPHERS_READ_AHEAD_READ_AHEAD_GAIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Allocates the pinned memory of one stream, which takes milliseconds. Call in the start's thread,
 * when there are streams for it.
 */
void read_ahead_prepare(void);

/* Returns 1 unless read-ahead was seen to be slower than this CPU seconds ago. */
int read_ahead_pays(unsigned key_bytes);

/*
 * Returns the bytes after which a stream begins to read ahead: READ_AHEAD_SOONEST, and more where
 * the streams of this process ended soon after they began.
 */
enum { READ_AHEAD_SOONEST = 1 << 20 };
uint64_t read_ahead_begin_after(void);

/* Reports that reading ahead was over, or failed to begin, and for how many bytes it lasted. */
void read_ahead_note_end(uint64_t bytes);

/* Fewer bytes say more about the clock. */
enum { READ_AHEAD_OBSERVED = 4 << 10 };

/*
 * Reports how long `bytes` of an application took: to combine, or by the CPU alone, which is
 * to be probed now and then in the same streams. Returns 0 when that shows that read-ahead does
 * not pay.
 */
int read_ahead_observe(unsigned key_bytes, int by_cpu, size_t bytes, double ns);

#endif
