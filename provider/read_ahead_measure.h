/*
 * Whether reading ahead is faster than the CPU's CTR: measured, then observed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_READ_AHEAD_MEASURE_H
#define GPUAES_READ_AHEAD_MEASURE_H

#include <stddef.h>

struct provider;

/* Makes and uses some MiB of keystream; a millisecond, and those of allocating its memory. */
void read_ahead_measure(void);

/* There are streams for it: then the start measures it, in the background. */
void read_ahead_want(void);
int read_ahead_is_wanted(void);

/* Expected to be faster than this CPU. Measures first, where nobody has. */
int read_ahead_pays(struct provider *provider, unsigned key_bytes);

/*
 * Tells how long so many bytes of an application took: to combine, or, which must be
 * tried now and then in the same streams, by the CPU alone. 0 once it does not pay.
 */
int read_ahead_observe(int by_cpu, size_t bytes, double ns);

#endif
