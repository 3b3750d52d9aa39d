/*
 * Whether reading ahead pays.
 *
 * What is measured is what the CPU spends on a byte: the combination, and the orders.
 * Whether the device keeps pace is not asked: where it does not, segments are late, and
 * the CPU goes on meanwhile as if there were none.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "read_ahead_measure.h"

#include <math.h>
#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../cuda/gpuaes.h"
#include "engine.h"
#include "engine_measure.h"

enum { PIECE = 16 << 10, SAMPLE = 16 << 20 };

/* What a piece takes a CPU, at 8 GB/s: it does it while a segment is late. */
static const double piece_ns = 2048;

/* Less than that of the CPU's time, or it is not worth the memory. */
static const double margin = 0.8, margin_observed = 0.95;

/* Observations of fewer bytes say more about the clock. */
enum { LEAST_OBSERVED = 4 << 10 };

/* After so many refusals it is tried again: what was observed may have passed. */
enum { REFUSALS = 64 };

static _Atomic double ns_per_byte; /* 0: not measured; infinite: it does not work */
static atomic_uint refusals;

/*
 * What was seen of the application's own updates, by the CPU and combined: 0 at first.
 * Buffers that are in no cache slow both, so only the two are comparable.
 */
static _Atomic double observed[2];

static atomic_int wanted;

void read_ahead_want(void)
{
    atomic_store_explicit(&wanted, 1, memory_order_relaxed);
}

int read_ahead_is_wanted(void)
{
    return atomic_load(&wanted);
}

static void pass_time(double ns)
{
    double begun = measure_now_ns();
    while (measure_now_ns() - begun < ns)
        continue;
}

static double use(struct gpuaes_keystream *keystream, unsigned char *piece)
{
    double spent = 0;
    uint64_t combined = 0;
    while (gpuaes_keystream_position(keystream) < SAMPLE && gpuaes_keystream_is_open(keystream)) {
        double begun = measure_now_ns();
        size_t done = gpuaes_keystream_xor(keystream, piece, piece, PIECE);
        if (done < PIECE && gpuaes_keystream_order(keystream))
            done += gpuaes_keystream_xor(keystream, piece + done, piece + done, PIECE - done);
        spent += measure_now_ns() - begun;
        combined += done;
        if (done == PIECE)
            continue;
        pass_time(piece_ns);
        gpuaes_keystream_skip(keystream, PIECE - done);
    }
    return combined >= PIECE ? spent / (double)combined : HUGE_VAL;
}

void read_ahead_measure(void)
{
    static const unsigned char zeros[32];
    struct gpuaes_keystream *keystream = NULL;
    struct gpuaes_key key;
    double ns = HUGE_VAL;
    unsigned char *piece = calloc(1, PIECE);
    if (piece != NULL && gpuaes_key_expand(&key, zeros, sizeof zeros) &&
        gpuaes_keystream_open(&keystream, &key, zeros, GPUAES_ALLOCATE) == GPUAES_OK)
        ns = use(keystream, piece);
    gpuaes_keystream_close(keystream);
    free(piece);
    atomic_store(&ns_per_byte, ns);
}

static int observation_is_against(void)
{
    double cpu = atomic_load(&observed[1]), combined = atomic_load(&observed[0]);
    return cpu > 0 && combined > cpu * margin_observed;
}

int read_ahead_pays(struct provider *provider, unsigned key_bytes)
{
    struct work work = {.kind = WORK_CTR, .key_bytes = key_bytes, .len = PIECE};
    if (atomic_load(&ns_per_byte) <= 0)
        read_ahead_measure();
    double cpu = measured_cpu_ns(provider, &work);
    if (atomic_load(&ns_per_byte) * PIECE < cpu * margin && !observation_is_against())
        return 1;
    return atomic_load(&ns_per_byte) < HUGE_VAL &&
           atomic_fetch_add(&refusals, 1) % REFUSALS == REFUSALS - 1;
}

int read_ahead_observe(int by_cpu, size_t bytes, double ns)
{
    if (bytes < LEAST_OBSERVED)
        return 1;
    double before = atomic_load(&observed[by_cpu]), now = ns / (double)bytes;
    atomic_store(&observed[by_cpu], before > 0 ? (7 * before + now) / 8 : now);
    return !observation_is_against();
}
