/*
 * Whether reading ahead is faster than the CPU's CTR: measured, then observed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_POLICY_READ_AHEAD_POLICY_H
#define GPUAES_PROVIDER_POLICY_READ_AHEAD_POLICY_H

#include <stddef.h>

struct provider;

/* Call when there are streams for it: then the start measures it, in the background. */
void read_ahead_want(void);
int read_ahead_is_wanted(void);

/*
 * Makes and uses some MiB of keystream, in the start's thread: a millisecond, and those of
 * allocating its memory; with underruns, 20.
 */
void read_ahead_measure(void);

/*
 * Returns 1 if read-ahead is expected to be faster than this CPU: also while it has not been
 * measured, and not for a while after it was seen to be slower.
 */
int read_ahead_pays(struct provider *provider, unsigned key_bytes);

/* Fewer bytes say more about the clock. */
enum { READ_AHEAD_OBSERVED = 4 << 10 };

/*
 * Reports how long `bytes` of an application took: to combine, or by the CPU alone, which is
 * to be probed now and then in the same streams. Returns 0 when that shows that read-ahead does
 * not pay.
 */
int read_ahead_observe(unsigned key_bytes, int by_cpu, size_t bytes, double ns);

#endif
