/*
 * Whether reading ahead pays.
 *
 * What is measured is what the CPU spends on a byte: the combination, and the orders.
 * Whether the device keeps pace is not asked: where it does not, segments are underruns, and
 * the CPU goes on meanwhile as if there were none.
 *
 * A wrong belief costs little: a stream that reads ahead in vain finds out after some
 * twenty segments, and then all rest, for a second at first and up to half a minute where
 * that happens again and again.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/policy/read_ahead_policy.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cuda/gpuaes.h"
#include "provider/common/default_ciphers.h"
#include "provider/policy/calibration.h"
#include "provider/policy/policy.h"

enum { PIECE = 16 << 10, SAMPLE = 8 << 20 };

/* What a piece takes a CPU, at 8 GB/s: it does it while a segment is late. */
static const double piece_ns = 2048;
static const double measure_most_ns = 20e6;

/* Less than that of the CPU's time, or it is not worth the memory. */
static const double margin_measured = 0.8, margin_observed = 0.95;

static const double rest_first_ns = 1e9, rest_most_ns = 32e9;

/*
 * So many observations of each side count as knowledge; so many without a verdict end the
 * doubling of rests.
 */
enum { LEAST_COMBINED = 16, LEAST_BY_CPU = 2, MANY_COMBINED = 256 };

static atomic_int wanted;
static _Atomic double measured; /* ns a byte; 0: not measured */

/*
 * What was seen of the application's own updates, by the CPU and combined. Buffers that are
 * in no cache slow both, so only the two are comparable.
 */
struct side {
    _Atomic double ns_per_byte;
    atomic_uint samples;
};
static struct belief {
    struct side side[2]; /* combined; by the CPU */
    atomic_int judged;   /* the measurement was compared with the CPU's rate */
    _Atomic int64_t rest_until;
    _Atomic double rest;
} beliefs[KEY_SIZES];

void read_ahead_want(void)
{
    atomic_store_explicit(&wanted, 1, memory_order_relaxed);
}

int read_ahead_is_wanted(void)
{
    return atomic_load(&wanted);
}

/* ---- Measurement -------------------------------------------------------------- */

static void pass_time(double ns)
{
    int64_t begun = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns_since(begun) < ns)
        continue;
}

/* 0: too little was made in time to tell. */
static double use(struct gpuaes_keystream *keystream, unsigned char *piece)
{
    double spent = 0;
    int64_t begun_all = clock_ns(CLOCK_MONOTONIC);
    uint64_t combined = 0;
    while (combined < SAMPLE && gpuaes_keystream_is_open(keystream) &&
           clock_ns_since(begun_all) < measure_most_ns) {
        int64_t begun = clock_ns(CLOCK_MONOTONIC);
        size_t done = gpuaes_keystream_xor(keystream, piece, piece, PIECE);
        if (done < PIECE && gpuaes_keystream_order(keystream))
            done += gpuaes_keystream_xor(keystream, piece + done, piece + done, PIECE - done);
        spent += clock_ns_since(begun);
        combined += done;
        if (done == PIECE)
            continue;
        pass_time(piece_ns);
        gpuaes_keystream_skip(keystream, PIECE - done);
    }
    return combined >= SAMPLE / 2 ? spent / (double)combined : 0;
}

void read_ahead_measure(void)
{
    static const unsigned char zeros[32];
    struct gpuaes_keystream *keystream = NULL;
    struct gpuaes_key key;
    unsigned char *piece = calloc(1, PIECE);
    if (piece != NULL && gpuaes_key_expand(&key, zeros, sizeof zeros) &&
        gpuaes_keystream_open(&keystream, &key, zeros, GPUAES_ALLOCATE) == GPUAES_OK)
        atomic_store(&measured, use(keystream, piece));
    gpuaes_keystream_close(keystream);
    free(piece);
}

/* ---- Belief ---------------------------------------------------------------------- */

static struct belief *belief_of(unsigned key_bytes)
{
    return &beliefs[key_size_index(key_bytes)];
}

static void rest(struct belief *b)
{
    double ns = atomic_load(&b->rest);
    ns = ns == 0 ? rest_first_ns : ns * 2 < rest_most_ns ? ns * 2 : rest_most_ns;
    atomic_store(&b->rest, ns);
    atomic_store(&b->rest_until, clock_ns(CLOCK_MONOTONIC) + (int64_t)ns);
    for (int i = 0; i < 2; i++) {
        atomic_store(&b->side[i].samples, 0);
        atomic_store(&b->side[i].ns_per_byte, 0);
    }
}

int read_ahead_pays(struct provider *provider, unsigned key_bytes)
{
    struct work work = {.kind = WORK_CTR, .key_bytes = key_bytes, .len = PIECE};
    struct belief *b = belief_of(key_bytes);
    if (!atomic_exchange(&b->judged, 1) &&
        atomic_load(&measured) * PIECE >= measured_cpu_ns(provider, &work) * margin_measured)
        rest(b);
    return clock_ns(CLOCK_MONOTONIC) >= atomic_load(&b->rest_until);
}

int read_ahead_observe(unsigned key_bytes, int by_cpu, size_t bytes, double ns)
{
    struct belief *b = belief_of(key_bytes);
    struct side *combined = &b->side[0], *cpu = &b->side[1], *side = &b->side[by_cpu];
    if (bytes < READ_AHEAD_OBSERVED)
        return 1;
    double before = atomic_load(&side->ns_per_byte), now = ns / (double)bytes;
    if (before > 0 && now > 2 * before) /* an interrupt, perhaps */
        now = 2 * before;
    atomic_store(&side->ns_per_byte, before > 0 ? (7 * before + now) / 8 : now);
    unsigned samples = atomic_fetch_add(&side->samples, 1) + 1;
    if (samples < LEAST_COMBINED || atomic_load(&cpu->samples) < LEAST_BY_CPU)
        return 1;
    if (atomic_load(&combined->samples) >= LEAST_COMBINED &&
        atomic_load(&combined->ns_per_byte) > atomic_load(&cpu->ns_per_byte) * margin_observed) {
        rest(b);
        return 0;
    }
    if (!by_cpu && samples >= MANY_COMBINED)
        atomic_store(&b->rest, 0);
    return 1;
}
