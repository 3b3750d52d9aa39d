/*
 * Whether reading ahead pays, by what the CPU was seen to spend on a byte of the same streams:
 * combining it, or encrypting it. Whether the device keeps pace is not asked: where it does not,
 * segments are underruns, and the CPU goes on meanwhile as if there were none.
 *
 * A wrong belief costs little: a stream that reads ahead without gain finds out after some twenty
 * segments, and then all rest for seconds.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/read_ahead/read_ahead_gain.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/key_size.h"
#include "base/minmax.h"
#include "cuda/gpuaes.h"

/* More than that of the CPU's time, and it is not worth the memory. */
static const double margin = 0.95;

static const int64_t rest_ns = 4000000000;

/* So many observations of each side count as knowledge. */
enum { LEAST_COMBINED = 16, LEAST_BY_CPU = 2 };

/*
 * Beginning and ending take some 80 us, in which a CPU encrypts a third of a MiB. So streams that
 * end soon after it lose; after each of them the next ones have to go on for twice as long first.
 */
enum { LATEST = 32 << 20 };
static _Atomic uint64_t begin_after = READ_AHEAD_SOONEST;

uint64_t read_ahead_begin_after(void)
{
    return atomic_load_explicit(&begin_after, memory_order_relaxed);
}

void read_ahead_note_end(uint64_t bytes)
{
    uint64_t after = read_ahead_begin_after();
    after = bytes < READ_AHEAD_SOONEST ? min_u64(2 * after, LATEST) : READ_AHEAD_SOONEST;
    atomic_store_explicit(&begin_after, after, memory_order_relaxed);
}

/* Buffers that are in no cache slow both sides, so only the two are comparable. */
struct side {
    _Atomic double ns_per_byte;
    atomic_uint samples;
};
static struct belief {
    struct side side[2]; /* combined; by the CPU */
    _Atomic int64_t rest_until;
} beliefs[KEY_SIZES];

void read_ahead_prepare(void)
{
    static const unsigned char zeros[32];
    struct gpuaes_keystream *keystream = NULL;
    struct gpuaes_key key;
    if (gpuaes_key_expand(&key, zeros, sizeof zeros) &&
        gpuaes_keystream_open(&keystream, &key, zeros, GPUAES_ALLOCATE) == GPUAES_OK)
        gpuaes_keystream_close(keystream);
}

int read_ahead_pays(unsigned key_bytes)
{
    return clock_ns(CLOCK_MONOTONIC) >= atomic_load(&beliefs[key_size_index(key_bytes)].rest_until);
}

static void rest(struct belief *b)
{
    atomic_store(&b->rest_until, clock_ns(CLOCK_MONOTONIC) + rest_ns);
    for (int i = 0; i < 2; i++) {
        atomic_store(&b->side[i].samples, 0);
        atomic_store(&b->side[i].ns_per_byte, 0);
    }
}

int read_ahead_observe(unsigned key_bytes, int by_cpu, size_t bytes, double ns)
{
    struct belief *b = &beliefs[key_size_index(key_bytes)];
    struct side *combined = &b->side[0], *cpu = &b->side[1], *side = &b->side[by_cpu];
    if (bytes < READ_AHEAD_OBSERVED)
        return 1;
    double before = atomic_load(&side->ns_per_byte), now = ns / (double)bytes;
    if (before > 0) /* twice as long as before is an interrupt, perhaps */
        now = (7 * before + min_double(now, 2 * before)) / 8;
    atomic_store(&side->ns_per_byte, now);
    atomic_fetch_add(&side->samples, 1);
    if (atomic_load(&combined->samples) < LEAST_COMBINED ||
        atomic_load(&cpu->samples) < LEAST_BY_CPU ||
        atomic_load(&combined->ns_per_byte) <= atomic_load(&cpu->ns_per_byte) * margin)
        return 1;
    rest(b);
    return 0;
}
