/*
 * What the CPU can copy: ordinary and non-temporal, one thread and one for each
 * core. Rates are of the bytes copied; twice as many are moved.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"

enum { MOST_THREADS = 256 };

typedef void copy_fn(unsigned char *to, const unsigned char *from, size_t bytes);

struct slice {
    copy_fn *copy;
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
};

struct copies {
    copy_fn *copy;
    unsigned char *to;
    const unsigned char *from;
    size_t bytes; /* a multiple of 64 for each thread */
    unsigned threads;
};

static void copy_ordinary(unsigned char *to, const unsigned char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#ifdef __SSE2__
static void copy_non_temporal(unsigned char *to, const unsigned char *from, size_t bytes)
{
    const __m128i *in = (const __m128i *)from;
    __m128i *out = (__m128i *)to;
    for (size_t i = 0; i < bytes / sizeof *in; i += 4) {
        __m128i a = _mm_load_si128(in + i), b = _mm_load_si128(in + i + 1),
                c = _mm_load_si128(in + i + 2), d = _mm_load_si128(in + i + 3);
        _mm_stream_si128(out + i, a);
        _mm_stream_si128(out + i + 1, b);
        _mm_stream_si128(out + i + 2, c);
        _mm_stream_si128(out + i + 3, d);
    }
    _mm_sfence();
}
#endif

static void *copy_slice(void *argument)
{
    const struct slice *s = argument;
    s->copy(s->to, s->from, s->bytes);
    return NULL;
}

static void run_copies(int side, void *argument)
{
    const struct copies *c = argument;
    struct slice slices[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    int started[MOST_THREADS] = {0};
    size_t each = c->bytes / c->threads / 64 * 64;
    (void)side;
    for (unsigned i = 0; i < c->threads; i++) {
        size_t at = i * each;
        slices[i] = (struct slice){c->copy, c->to + at, c->from + at,
                                   i + 1 < c->threads ? each : c->bytes - at};
        started[i] = i > 0 && pthread_create(&threads[i], NULL, copy_slice, &slices[i]) == 0;
    }
    for (unsigned i = 0; i < c->threads; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            copy_slice(&slices[i]);
}

int part_host_limits(void)
{
    static const struct {
        const char *operation;
        copy_fn *copy;
    } rows[] = {{"memcpy", copy_ordinary},
#ifdef __SSE2__
                {"non-temporal copy", copy_non_temporal}
#endif
    };
    unsigned cores = cores_allowed();
    size_t bytes = options.quick ? MIB : GIB;
    struct buffer in = buffer_take(PAGEABLE, bytes), out = buffer_take(PAGEABLE, bytes);
    if (in.p == NULL || out.p == NULL)
        print_skipped("limits", "copies by the CPU: there is not enough memory");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && in.p != NULL && out.p != NULL; i++)
        for (int all = 0; all < (cores > 1 ? 2 : 1); all++) {
            unsigned threads = !all ? 1 : cores < MOST_THREADS ? cores : MOST_THREADS;
            struct copies copies = {rows[i].copy, out.p, in.p, bytes, threads};
            struct row row = {.part = "limits",
                              .operation = rows[i].operation,
                              .bytes = bytes,
                              .memory = "pageable",
                              .placement = "out of place",
                              .threads = threads,
                              .processor = "cpu"};
            struct result result = measure_alone(15, run_copies, &copies);
            print_rates(&row, &result, (double)bytes);
        }
    buffer_give(&in);
    buffer_give(&out);
    return 0;
}
