/*
 * Random numbers in device memory: every kind, at random places of a keystream and of memory,
 * against numbers that are made of libcrypto's keystream here; counters that wrap; parts against
 * the whole; graphs; moments of normal numbers; what is refused. In processes that force one or
 * the other kernel, too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <openssl/evp.h>

#include "cuda/gpuaes.h"
#include "test/support/cases.h"

enum { BLOCK = GPUAES_BLOCK, KEY = 32, KEYS = 3, GAP = 64, KEY_OFFSETS = 16 };

static const struct {
    const char *name;
    unsigned width;  /* bytes of keystream for an element */
    unsigned digits; /* integers as floating-point numbers: at most 2^digits */
} kinds[] = {
    [GPUAES_RANDOM_BYTES] = {"bytes", 1},
    [GPUAES_RANDOM_UNIFORM32] = {"uniform floats", 4},
    [GPUAES_RANDOM_UNIFORM64] = {"uniform doubles", 8},
    [GPUAES_RANDOM_NORMAL32] = {"normal floats", 4},
    [GPUAES_RANDOM_NORMAL64] = {"normal doubles", 8},
    [GPUAES_RANDOM_RANGE] = {"integers of a range", 8},
    [GPUAES_RANDOM_BERNOULLI] = {"Bernoulli trials", 8},
    [GPUAES_RANDOM_UNIFORM_FLOAT16] = {"uniform float16", 4},
    [GPUAES_RANDOM_UNIFORM_BFLOAT16] = {"uniform bfloat16", 4},
    [GPUAES_RANDOM_NORMAL_FLOAT16] = {"normal float16", 4},
    [GPUAES_RANDOM_NORMAL_BFLOAT16] = {"normal bfloat16", 4},
    [GPUAES_RANDOM_RANGE_FLOAT16] = {"integers in float16", 8, 11},
    [GPUAES_RANDOM_RANGE_BFLOAT16] = {"integers in bfloat16", 8, 8},
    [GPUAES_RANDOM_RANGE_FLOAT32] = {"integers in float", 8, 24},
    [GPUAES_RANDOM_RANGE_FLOAT64] = {"integers in double", 8, 53},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static drv_stream stream;
static unsigned char raw_keys[KEYS][KEY];
static unsigned char *keys; /* the same, where the device reaches them */

static unsigned char *put_keys(enum place place, size_t offset)
{
    unsigned char *p = application_alloc(place, sizeof raw_keys + KEY_OFFSETS);
    return p != NULL && application_write(place, p + offset, raw_keys, sizeof raw_keys) ? p : NULL;
}

/* 1, or -1 where there is no GPU. */
static int begin(void)
{
    tap_random_seed(&random_state);
    if (!application_begin(0) || LIBRARY(gpuaes_start)(NULL, NULL, 1) != GPUAES_READY)
        return -1;
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    tap_random_bytes(&random_state, raw_keys, sizeof raw_keys);
    keys = put_keys(DEVICE, 0);
    return keys != NULL;
}

static int end(int right)
{
    application_free(DEVICE, keys);
    application.stream_destroy(stream);
    return right;
}

static size_t below(size_t limit)
{
    return tap_random_below(&random_state, limit);
}

/* ---- The reference ------------------------------------------------------------------------ */

static int is_range(enum gpuaes_random_kind kind)
{
    return kind == GPUAES_RANDOM_RANGE || kinds[kind].digits != 0;
}

static int is_half(enum gpuaes_random_kind kind)
{
    return kind >= GPUAES_RANDOM_UNIFORM_FLOAT16 && kind <= GPUAES_RANDOM_RANGE_BFLOAT16;
}

static int is_wide(const struct gpuaes_random *r)
{
    return is_range(r->kind) && r->range > (uint64_t)1 << 32;
}

/* Bytes of keystream for an element. */
static unsigned width_of(const struct gpuaes_random *r)
{
    return is_wide(r) ? 16 : kinds[r->kind].width;
}

static size_t element_bytes(const struct gpuaes_random *r)
{
    if (is_half(r->kind))
        return 2;
    if (r->kind == GPUAES_RANDOM_RANGE_FLOAT32)
        return 4;
    if (r->kind == GPUAES_RANDOM_RANGE_FLOAT64)
        return 8;
    return r->kind >= GPUAES_RANDOM_RANGE ? r->element_bytes : width_of(r);
}

static const unsigned char *raw_key_of(const struct gpuaes_random *r)
{
    return raw_keys[(size_t)((const unsigned char *)r->key - keys) / KEY];
}

/* Bytes `from` to from + bytes - 1 of the keystream; to be freed. */
static unsigned char *keystream(const struct gpuaes_random *r, uint64_t from, size_t bytes)
{
    unsigned char counter[BLOCK];
    uint64_t carry = from / BLOCK;
    size_t skip = from % BLOCK;
    int n;
    for (int i = BLOCK - 1; i >= 0; i--) {
        carry += r->counter[i];
        counter[i] = (unsigned char)carry;
        carry >>= 8;
    }
    unsigned char *zeros = calloc(1, bytes + skip), *stream_bytes = malloc(bytes + skip);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(c, EVP_aes_256_ctr(), NULL, raw_key_of(r), counter);
    EVP_EncryptUpdate(c, stream_bytes, &n, zeros, (int)(bytes + skip));
    EVP_CIPHER_CTX_free(c);
    memmove(stream_bytes, stream_bytes + skip, bytes);
    free(zeros);
    return stream_bytes;
}

static uint32_t word32(const unsigned char *p)
{
    uint32_t w = 0;
    for (int i = 3; i >= 0; i--)
        w = w << 8 | p[i];
    return w;
}

static uint64_t word64(const unsigned char *p)
{
    return (uint64_t)word32(p + 4) << 32 | word32(p);
}

/* One rounding each: see gpuaes.h. */
static float scale32(const struct gpuaes_random *r, float x)
{
    volatile float product = x * (float)r->scale;
    volatile float sum = product + (float)r->shift;
    return sum;
}

static double scale64(const struct gpuaes_random *r, double x)
{
    volatile double product = x * r->scale;
    volatile double sum = product + r->shift;
    return sum;
}

/* Of the pair at `p`: the first number or the second. */
static double normal32(const unsigned char *p, int second)
{
    const double pi = acos(-1);
    volatile float u = (float)word32(p) * 0x1p-32f + 0x1p-33f;
    double length = sqrt(-2 * log((double)u));
    double angle = pi * ((word32(p + 4) >> 8) * 0x1p-23);
    return length * (second ? sin(angle) : cos(angle));
}

static double normal64(const unsigned char *p, int second)
{
    const double pi = acos(-1);
    double length = sqrt(-2 * log((double)(word64(p) >> 11) * 0x1p-53 + 0x1p-54));
    double angle = pi * ((double)(word64(p + 8) >> 11) * 0x1p-52);
    return length * (second ? sin(angle) : cos(angle));
}

static int is_bfloat16(enum gpuaes_random_kind kind)
{
    return kind == GPUAES_RANDOM_UNIFORM_BFLOAT16 || kind == GPUAES_RANDOM_NORMAL_BFLOAT16 ||
           kind == GPUAES_RANDOM_RANGE_BFLOAT16;
}

/* A number rounded to a half type: normal ones to nearest, uniform ones down. */
static double rounded(enum gpuaes_random_kind kind, double x)
{
    const int digits = is_bfloat16(kind) ? 8 : 11, least = is_bfloat16(kind) ? -125 : -13;
    const int down =
        kind == GPUAES_RANDOM_UNIFORM_FLOAT16 || kind == GPUAES_RANDOM_UNIFORM_BFLOAT16;
    int exponent;
    (void)frexp(x, &exponent);
    double step = ldexp(1, (exponent < least ? least : exponent) - digits);
    x = (down ? floor(x / step) : rint(x / step)) * step;
    return !is_bfloat16(kind) && fabs(x) > 65504 ? copysign((double)INFINITY, x) : x;
}

/* The number that two bytes are. */
static double half_at(enum gpuaes_random_kind kind, const unsigned char *p)
{
    const unsigned bits = (unsigned)p[1] << 8 | p[0], mantissa = is_bfloat16(kind) ? 7 : 10;
    const int exponent = (int)((bits & 0x7fff) >> mantissa), bias = is_bfloat16(kind) ? 127 : 15;
    const double fraction = ldexp(bits & ((1u << mantissa) - 1), -(int)mantissa);
    double x = exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
    if (exponent == 2 * bias + 1)
        x = fraction == 0 ? (double)INFINITY : (double)NAN;
    return bits >> 15 ? -x : x;
}

static uint64_t integer(const struct gpuaes_random *r, const unsigned char *own)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t word = word64(own);
    if (r->kind == GPUAES_RANDOM_BERNOULLI)
        return (word >> 1) < (uint64_t)(r->probability * 0x1p63) ? r->success : 0;
    wide range = r->range == 0 ? (wide)1 << 64 : r->range, product = word * range;
    if (is_wide(r)) /* word128 * range / 2^64 */
        product = word64(own + 8) * range + (uint64_t)(product >> 64);
    return (uint64_t)r->low + (uint64_t)(product >> 64);
}

/* What an element of a half type is to be. */
static double expected_half(const struct gpuaes_random *r, const unsigned char *own,
                            const unsigned char *pair, int second)
{
    switch (r->kind) {
    case GPUAES_RANDOM_UNIFORM_FLOAT16:
        return rounded(r->kind, (double)scale32(r, (float)(word32(own) >> 19) * 0x1p-13f));
    case GPUAES_RANDOM_UNIFORM_BFLOAT16:
        return rounded(r->kind, (double)scale32(r, (float)(word32(own) >> 16) * 0x1p-16f));
    case GPUAES_RANDOM_RANGE_FLOAT16:
    case GPUAES_RANDOM_RANGE_BFLOAT16:
        return (double)(int64_t)integer(r, own);
    default:
        return rounded(r->kind, (double)scale32(r, (float)normal32(pair, second)));
    }
}

/* What element `i` is to be, at `to`; of normal numbers, as near as the CPU has it; of half types
 * as a double. */
static void expect(const struct gpuaes_random *r, const unsigned char *bytes, uint64_t at, size_t i,
                   unsigned char *to)
{
    uint64_t number = r->first + i;
    const unsigned width = width_of(r);
    const unsigned char *own = bytes + (number * width - at);
    const unsigned char *pair = bytes + (number / 2 * 2 * width - at);
    float f;
    double d;
    uint64_t w;
    if (is_half(r->kind)) {
        d = expected_half(r, own, pair, number % 2 != 0);
        memcpy(to, &d, sizeof d);
        return;
    }
    switch (r->kind) {
    case GPUAES_RANDOM_BYTES:
        *to = *own;
        return;
    case GPUAES_RANDOM_UNIFORM32:
        f = scale32(r, (float)(word32(own) >> 8) * 0x1p-24f);
        memcpy(to, &f, sizeof f);
        return;
    case GPUAES_RANDOM_UNIFORM64:
        d = scale64(r, (double)(word64(own) >> 11) * 0x1p-53);
        memcpy(to, &d, sizeof d);
        return;
    case GPUAES_RANDOM_NORMAL32:
        f = scale32(r, (float)normal32(pair, number % 2 != 0));
        memcpy(to, &f, sizeof f);
        return;
    case GPUAES_RANDOM_NORMAL64:
        d = scale64(r, normal64(pair, number % 2 != 0));
        memcpy(to, &d, sizeof d);
        return;
    case GPUAES_RANDOM_RANGE_FLOAT32:
        f = (float)(int64_t)integer(r, own);
        memcpy(to, &f, sizeof f);
        return;
    case GPUAES_RANDOM_RANGE_FLOAT64:
        d = (double)(int64_t)integer(r, own);
        memcpy(to, &d, sizeof d);
        return;
    default:
        w = integer(r, own);
        memcpy(to, &w, r->element_bytes); /* the low bytes, as hosts of GPUs have them */
    }
}

static int is_near(double a, double b, double within)
{
    return fabs(a - b) <= within;
}

/* Whether an element is what was expected, of normal numbers within some roundings. */
static int agrees(const struct gpuaes_random *r, const unsigned char *got,
                  const unsigned char *expected)
{
    float f[2];
    double d[2];
    switch (r->kind) {
    case GPUAES_RANDOM_UNIFORM_FLOAT16:
    case GPUAES_RANDOM_UNIFORM_BFLOAT16:
    case GPUAES_RANDOM_RANGE_FLOAT16:
    case GPUAES_RANDOM_RANGE_BFLOAT16:
        memcpy(&d[1], expected, sizeof d[1]);
        return half_at(r->kind, got) == d[1];
    case GPUAES_RANDOM_NORMAL_FLOAT16:
    case GPUAES_RANDOM_NORMAL_BFLOAT16:
        memcpy(&d[1], expected, sizeof d[1]);
        return is_near(half_at(r->kind, got), d[1],
                       8e-6 * (fabs(r->scale) + fabs(r->shift)) + fabs(d[1]) / 128);
    case GPUAES_RANDOM_NORMAL32:
        memcpy(&f[0], got, sizeof f[0]);
        memcpy(&f[1], expected, sizeof f[1]);
        return is_near(f[0], f[1], 8e-6 * (fabs(r->scale) + fabs(r->shift)));
    case GPUAES_RANDOM_NORMAL64:
        memcpy(&d[0], got, sizeof d[0]);
        memcpy(&d[1], expected, sizeof d[1]);
        return is_near(d[0], d[1], 1e-13 * (fabs(r->scale) + fabs(r->shift)));
    default:
        return memcmp(got, expected, element_bytes(r)) == 0;
    }
}

/* ---- One call --------------------------------------------------------------------------------
 */

/* Compares what is at `got`, with GAP bytes of 0xee before and behind it. */
static int is_right(const struct gpuaes_random *r, const unsigned char *got)
{
    const unsigned width = width_of(r);
    const size_t element = element_bytes(r), bytes = r->count * element;
    uint64_t at = r->first / 2 * 2 * width; /* so that pairs are whole */
    unsigned char *stream_bytes = keystream(r, at, (r->count + 2) * width), expected[8];
    int right = 1;
    for (size_t i = 0; i < r->count && right; i++) {
        const unsigned char *own = got + GAP + i * element;
        expect(r, stream_bytes, at, i, expected);
        right = agrees(r, own, expected);
        if (!right)
            tap_diag("%s, element %zu of %zu, from %llu on: %016llx instead of %016llx",
                     kinds[r->kind].name, i, r->count, (unsigned long long)r->first,
                     (unsigned long long)word64(own), (unsigned long long)word64(expected));
    }
    for (size_t i = 0; i < GAP && right; i++) {
        right = got[i] == 0xee && got[GAP + bytes + i] == 0xee;
        if (!right)
            tap_diag("%s: byte %zu before or behind the elements has changed", kinds[r->kind].name,
                     i);
    }
    free(stream_bytes);
    return right;
}

/* Queues at `offset` bytes of device memory, and compares. */
static int runs(const struct gpuaes_random *r, size_t offset)
{
    const size_t bytes = r->count * element_bytes(r), all = bytes + 2 * (size_t)GAP;
    unsigned char *got = malloc(all);
    unsigned char *device = application_alloc(DEVICE, all + offset);
    memset(got, 0xee, all);
    int right = device != NULL && application_write(DEVICE, device + offset, got, all);
    enum gpuaes_status status =
        right ? LIBRARY(gpuaes_random_queue)(r, device + offset + GAP, stream, 0) : GPUAES_FAULT;
    right = status == GPUAES_OK && application_wait(stream) &&
            application_read(got, DEVICE, device + offset, all);
    if (!right)
        tap_diag("%s: status %d", kinds[r->kind].name, (int)status);
    right = right && is_right(r, got);
    application_free(DEVICE, device);
    free(got);
    return right;
}

static struct gpuaes_random random_of(enum gpuaes_random_kind kind, size_t count)
{
    struct gpuaes_random r = {.struct_bytes = sizeof r,
                              .kind = kind,
                              .key = keys + below(KEYS) * KEY,
                              .first = below(2) ? below(300) : below((size_t)1 << 40),
                              .count = count,
                              .element_bytes = (size_t)1 << below(4),
                              .scale = 1,
                              .probability = 0.3,
                              .success = UINT64_MAX / (1 + below(1000))};
    tap_random_bytes(&random_state, r.counter, sizeof r.counter);
    for (size_t i = below(BLOCK); i < BLOCK; i++) /* it wraps, sooner or later */
        r.counter[i] = 0xff;
    if (below(2)) {
        r.scale = (double)below(1000) / 7 - 60;
        r.shift = (double)below(1000) / 11 - 50;
    }
    r.low = (int64_t)tap_random_next(&random_state) >> below(64);
    r.range = tap_random_next(&random_state) >> below(64);
    if (kinds[kind].digits != 0) {
        const int64_t most = (int64_t)1 << kinds[kind].digits;
        r.low = (int64_t)below((size_t)(2 * most + 1)) - most;
        r.range = 1 + below((size_t)(most - r.low + 1));
    }
    return r;
}

/* Each kind at random places: few elements, some rows of a warp, several tiles. */
static int check_random(void)
{
    int right = begin();
    const size_t turns = setting("GPUAES_TEST_CASES", 12);
    for (int kind = 0; kind < KINDS && right == 1; kind++)
        for (size_t turn = 0; turn < turns && right; turn++) {
            size_t most = turn % 3 == 0 ? 20 : turn % 3 == 1 ? 600 : 9000;
            struct gpuaes_random r = random_of((enum gpuaes_random_kind)kind, 1 + below(most));
            right = runs(&r, below(32) * element_bytes(&r));
        }
    return right < 0 ? right : end(right);
}

/* So many that the large kernel is chosen, whatever the device. */
static int check_sizes(void)
{
    int right = begin(), multiprocessors = 1, threads = 1;
    if (right < 0)
        return right;
    (void)application.device_get_attribute(&multiprocessors, DRV_ATTR_MULTIPROCESSOR_COUNT, 0);
    (void)application.device_get_attribute(&threads, DRV_ATTR_MAX_THREADS_PER_BLOCK, 0);
    size_t bytes = (size_t)multiprocessors * (size_t)threads * BLOCK * 7;
    for (int kind = 0; kind < KINDS && right; kind++) {
        /* On a card, the CPU's part of all kinds would take a minute. */
        if (!application_is_emulated && kind > GPUAES_RANDOM_UNIFORM32)
            bytes = (size_t)4 << 20;
        struct gpuaes_random r =
            random_of((enum gpuaes_random_kind)kind, bytes / kinds[kind].width);
        r.count = bytes / width_of(&r);
        right = runs(&r, below(16) * element_bytes(&r));
    }
    return end(right);
}

/* Ends of ranges, and probabilities that are certain. */
static int check_edges(void)
{
    static const struct {
        uint64_t range;
        int64_t low;
    } ranges[] = {{0, 0},
                  {1, -5},
                  {2, INT64_MAX},
                  {UINT64_MAX, INT64_MIN},
                  {256, 0},
                  {(uint64_t)1 << 32, 0},
                  {((uint64_t)1 << 32) + 1, 0},
                  {(uint64_t)3 << 61, 0}};
    static const double probabilities[] = {0, 1, 0.5, 0x1p-63, 0x1p-70};
    int right = begin();
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && right == 1; i++) {
        struct gpuaes_random r = random_of(GPUAES_RANDOM_RANGE, 500);
        r.range = ranges[i].range;
        r.low = ranges[i].low;
        right = runs(&r, 0);
    }
    for (int kind = GPUAES_RANDOM_RANGE_FLOAT16; kind <= (int)GPUAES_RANDOM_RANGE_FLOAT64; kind++)
        for (int from = -1; from <= 1 && right == 1; from++) { /* to 2^digits, and its neighbours */
            const int64_t most = (int64_t)1 << kinds[kind].digits;
            struct gpuaes_random r = random_of((enum gpuaes_random_kind)kind, 500);
            r.low = from < 0 ? -most : from * (most - 1);
            r.range = (uint64_t)(most - r.low) + 1;
            right = runs(&r, 0);
        }
    for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0] && right == 1; i++) {
        struct gpuaes_random r = random_of(GPUAES_RANDOM_BERNOULLI, 500);
        r.probability = probabilities[i];
        right = runs(&r, 0);
    }
    /* The last elements that a keystream has. */
    for (int kind = 0; kind < KINDS && right == 1; kind++) {
        struct gpuaes_random r = random_of((enum gpuaes_random_kind)kind, 100);
        r.first = UINT64_MAX / width_of(&r) - 101;
        right = runs(&r, 0);
    }
    return right < 0 ? right : end(right);
}

/* Half types, at all sizes of numbers: normal ones are the device's own floats, rounded; uniform
 * ones stay below their end. */
static int check_halves(void)
{
    enum { COUNT = 20000 };
    static const double scales[] = {1, 3e4, 1e-5, 3e-8, 1e-30, 3e-39, 1e37};
    int right = begin();
    unsigned char *device = application_alloc(DEVICE, COUNT * 4), *got = malloc(COUNT * 4);
    float *floats = malloc(COUNT * sizeof *floats);
    for (size_t i = 0; i < sizeof scales / sizeof scales[0] && right == 1; i++)
        for (int kind = GPUAES_RANDOM_NORMAL_FLOAT16; kind <= (int)GPUAES_RANDOM_NORMAL_BFLOAT16;
             kind++) {
            struct gpuaes_random r = random_of(GPUAES_RANDOM_NORMAL32, COUNT);
            r.scale = scales[i];
            r.shift = 0;
            right = LIBRARY(gpuaes_random_queue)(&r, device, stream, 0) == GPUAES_OK &&
                    application_wait(stream) &&
                    application_read(floats, DEVICE, device, COUNT * sizeof *floats);
            r.kind = (enum gpuaes_random_kind)kind;
            right = right && LIBRARY(gpuaes_random_queue)(&r, device, stream, 0) == GPUAES_OK &&
                    application_wait(stream) && application_read(got, DEVICE, device, COUNT * 2);
            for (size_t n = 0; n < COUNT && right; n++) {
                right = half_at(r.kind, got + 2 * n) == rounded(r.kind, (double)floats[n]);
                if (!right)
                    tap_diag("%s: %a became %a", kinds[kind].name, (double)floats[n],
                             half_at(r.kind, got + 2 * n));
            }
        }
    /* Low and high are numbers of both types. */
    static const double ranges[][2] = {{0, 1}, {1, 2}, {-2, -1}, {-1, 1}, {256, 258}, {-65280, 1}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && right == 1; i++)
        for (int kind = GPUAES_RANDOM_UNIFORM_FLOAT16;
             kind <= (int)GPUAES_RANDOM_UNIFORM_BFLOAT16 && right; kind++) {
            struct gpuaes_random r = random_of((enum gpuaes_random_kind)kind, COUNT);
            r.shift = ranges[i][0];
            r.scale = ranges[i][1] - ranges[i][0];
            right = LIBRARY(gpuaes_random_queue)(&r, device, stream, 0) == GPUAES_OK &&
                    application_wait(stream) && application_read(got, DEVICE, device, COUNT * 2);
            for (size_t n = 0; n < COUNT && right; n++) {
                double x = half_at(r.kind, got + 2 * n);
                right = ranges[i][0] <= x && x < ranges[i][1];
                if (!right)
                    tap_diag("%s from %g to %g: %g", kinds[kind].name, ranges[i][0], ranges[i][1],
                             x);
            }
        }
    application_free(DEVICE, device);
    free(got);
    free(floats);
    return right < 0 ? right : end(right);
}

/* A whole, and the same in parts at other addresses. */
static int check_parts(void)
{
    enum { COUNT = 5000 };
    int right = begin();
    for (int kind = 0; kind < KINDS && right == 1; kind++) {
        struct gpuaes_random r = random_of((enum gpuaes_random_kind)kind, COUNT);
        const size_t bytes = COUNT * element_bytes(&r);
        unsigned char *got = malloc(2 * bytes), *device = application_alloc(DEVICE, 2 * bytes);
        right = LIBRARY(gpuaes_random_queue)(&r, device, stream, 0) == GPUAES_OK;
        for (size_t done = 0; done < COUNT && right; done += r.count, r.first += r.count) {
            r.count = 1 + below(COUNT - done < 700 ? COUNT - done : 700);
            right = LIBRARY(gpuaes_random_queue)(&r, device + bytes + done * element_bytes(&r),
                                                 stream, 0) == GPUAES_OK;
        }
        right = right && application_wait(stream) &&
                application_read(got, DEVICE, device, 2 * bytes) &&
                memcmp(got, got + bytes, bytes) == 0;
        if (!right)
            tap_diag("%s: parts differ from the whole", kinds[kind].name);
        application_free(DEVICE, device);
        free(got);
    }
    return right < 0 ? right : end(right);
}

/* Of a fixed key and counter, so that the result is the same in each run. */
static int check_moments(void)
{
    enum { COUNT = 1 << 17 };
    static const unsigned char fixed[KEY] = "a key for moments of numbers....";
    int right = begin();
    if (right < 0)
        return right;
    if (!application_write(DEVICE, keys, fixed, KEY))
        return 0;
    struct gpuaes_random r = {.struct_bytes = sizeof r,
                              .kind = GPUAES_RANDOM_NORMAL32,
                              .key = keys,
                              .count = COUNT,
                              .scale = 1};
    float *got = calloc(COUNT, sizeof *got);
    unsigned char *device = application_alloc(DEVICE, COUNT * sizeof *got);
    right = LIBRARY(gpuaes_random_queue)(&r, device, stream, 0) == GPUAES_OK &&
            application_wait(stream) && application_read(got, DEVICE, device, COUNT * sizeof *got);
    double sums[4] = {0}, products = 0;
    size_t far = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double z = (double)got[i], power = z;
        for (int m = 0; m < 4; m++, power *= z)
            sums[m] += power / COUNT;
        products += i % 2 != 0 ? z * (double)got[i - 1] * 2 / COUNT : 0;
        far += fabs(z) > 2;
    }
    double share = (double)far / COUNT;
    tap_diag("moments: %.5f %.5f %.5f %.5f; of pairs: %.5f; beyond 2: %.5f", sums[0], sums[1],
             sums[2], sums[3], products, share);
    /* Four standard deviations of each. */
    double one = 4 / sqrt(COUNT);
    right = right && is_near(sums[0], 0, one) && is_near(sums[1], 1, one * sqrt(2)) &&
            is_near(sums[2], 0, one * sqrt(15)) && is_near(sums[3], 3, one * sqrt(96)) &&
            is_near(products, 0, one * sqrt(2)) && is_near(share, 0.0455003, one * 0.2084);
    application_free(DEVICE, device);
    free(got);
    return end(right);
}

/* A graph writes the same numbers whenever it runs with the same key, and reads that anew. */
static int check_graph(void)
{
    int right = begin();
    for (int kind = 0; kind < KINDS && right == 1; kind++) {
        struct gpuaes_random r = random_of((enum gpuaes_random_kind)kind, 3000);
        const size_t all = r.count * element_bytes(&r) + 2 * (size_t)GAP;
        unsigned char *got = malloc(all), *device = application_alloc(DEVICE, all);
        struct application_graph graph;
        right = application_begin_capture(stream) &&
                LIBRARY(gpuaes_random_queue)(&r, device + GAP, stream, 0) == GPUAES_OK &&
                application_make_graph(stream, &graph);
        for (int run = 0; run < 3 && right; run++) {
            memset(got, 0xee, all);
            if (run == 2)
                tap_random_bytes(&random_state, raw_keys, sizeof raw_keys);
            right = application_write(DEVICE, keys, raw_keys, sizeof raw_keys) &&
                    application_write(DEVICE, device, got, all) &&
                    application_run_graph(&graph, stream) && application_wait(stream) &&
                    application_read(got, DEVICE, device, all) && is_right(&r, got);
        }
        application_free_graph(&graph);
        application_free(DEVICE, device);
        free(got);
    }
    return right < 0 ? right : end(right);
}

/* Keys at any alignment, and in managed and pinned memory; output there. */
static int check_memory(void)
{
    int right = begin();
    if (right < 0)
        return right;
    unsigned char *usual = keys;
    for (size_t offset = 0; offset < KEY_OFFSETS && right; offset++) {
        unsigned char *moved = put_keys(DEVICE, offset);
        keys = moved + offset;
        struct gpuaes_random r = random_of(GPUAES_RANDOM_UNIFORM32, 1000);
        right = moved != NULL && runs(&r, 4);
        application_free(DEVICE, moved);
    }
    for (enum place place = MANAGED; place <= PINNED && right; place++) {
        unsigned char *p = application_alloc(place, 1000 + 2 * (size_t)GAP);
        unsigned char *moved = put_keys(place, 1);
        if (p == NULL || moved == NULL)
            continue; /* there is no managed memory everywhere */
        keys = moved + 1;
        struct gpuaes_random r = random_of(GPUAES_RANDOM_BYTES, 1000);
        memset(p, 0xee, 1000 + 2 * (size_t)GAP);
        right = LIBRARY(gpuaes_random_queue)(&r, p + GAP, stream, 0) == GPUAES_OK &&
                application_wait(stream) && is_right(&r, p);
        application_free(place, p);
        application_free(place, moved);
    }
    keys = usual;
    return end(right);
}

/* The key is read in the order of the stream: a copy that is queued before brings it. */
static int check_order(void)
{
    int right = begin();
    if (right < 0)
        return right;
    unsigned char *device = application_alloc(DEVICE, 4096), *got = malloc(4096);
    memset(got, 0xee, 4096);
    right = application_write(DEVICE, device, got, 4096);
    struct gpuaes_random r = random_of(GPUAES_RANDOM_BYTES, 4096 - 2 * GAP);
    /* The last one stays until the work is done. */
    for (int i = 0; i < KEYS && right; i++) {
        r.key = keys;
        tap_random_bytes(&random_state, raw_keys, sizeof raw_keys);
        right = application.memcpy_htod_async((drv_ptr)(uintptr_t)keys, raw_keys, sizeof raw_keys,
                                              stream) == DRV_SUCCESS &&
                LIBRARY(gpuaes_random_queue)(&r, device + GAP, stream, 0) == GPUAES_OK &&
                application.memset_d8_async((drv_ptr)(uintptr_t)keys, 0, sizeof raw_keys, stream) ==
                    DRV_SUCCESS &&
                application_wait(stream) && application_read(got, DEVICE, device, 4096) &&
                is_right(&r, got);
    }
    application_free(DEVICE, device);
    free(got);
    return end(right);
}

static int is_refused(const struct gpuaes_random *r, void *out, enum gpuaes_status expected,
                      const char *what)
{
    enum gpuaes_status status = LIBRARY(gpuaes_random_queue)(r, out, stream, 0);
    if (status != expected)
        tap_diag("%s: status %d instead of %d", what, (int)status, (int)expected);
    return status == expected;
}

static int check_refused(void)
{
    int right = begin();
    if (right < 0)
        return right;
    unsigned char *device = application_alloc(DEVICE, 4096), *pageable = malloc(4096);
#define REFUSED(kind, out, member, value)                                                          \
    do {                                                                                           \
        struct gpuaes_random r = random_of(GPUAES_RANDOM_##kind, 10);                              \
        r.first = 0;                                                                               \
        r.element_bytes = 8;                                                                       \
        r.member = value;                                                                          \
        right &=                                                                                   \
            is_refused(&r, out, GPUAES_BAD_ARGUMENT, #kind ", " #out ", " #member " " #value);     \
    } while (0)
    REFUSED(BYTES, device, kind, (enum gpuaes_random_kind)KINDS);
    REFUSED(BYTES, device, key, NULL);
    REFUSED(BYTES, NULL, key, keys);
    REFUSED(BYTES, device, first, UINT64_MAX - 5);
    REFUSED(UNIFORM64, device, first, UINT64_MAX / 8 - 9);
    REFUSED(UNIFORM64, device, first, UINT64_MAX / 8 + 1);
    REFUSED(RANGE, device, count, SIZE_MAX / 8 + 1);
    REFUSED(RANGE, device, element_bytes, 3);
    REFUSED(RANGE, device, element_bytes, 0);
    REFUSED(RANGE, device + 4, key, keys);
    REFUSED(UNIFORM32, device + 2, key, keys);
    REFUSED(UNIFORM32, device, scale, (double)NAN);
    REFUSED(NORMAL64, device, shift, (double)INFINITY);
    REFUSED(UNIFORM32, device, scale, 1e39); /* as a float, it is infinite */
    REFUSED(NORMAL32, device, shift, -1e39);
    REFUSED(UNIFORM_FLOAT16, device, scale, 1e39);
    REFUSED(NORMAL_BFLOAT16, device, shift, (double)NAN);
    REFUSED(NORMAL_BFLOAT16, device + 1, key, keys);
    REFUSED(UNIFORM_BFLOAT16, device, first, UINT64_MAX / 4 - 9);
    REFUSED(RANGE_FLOAT16, device, low, -2049);
    REFUSED(RANGE_FLOAT16, device, low, INT64_MIN);
    REFUSED(RANGE_FLOAT32, device, low, (1 << 24) + 1);
    REFUSED(RANGE_FLOAT32, device, range, 0);
    REFUSED(RANGE_FLOAT32, device, range, ((uint64_t)1 << 25) + 2);
    REFUSED(RANGE_FLOAT64, device, range, UINT64_MAX);
    REFUSED(RANGE_BFLOAT16, device + 1, key, keys);
    REFUSED(BERNOULLI, device, probability, 1.0000001);
    REFUSED(BERNOULLI, device, probability, -0.5);
    REFUSED(BERNOULLI, device, probability, (double)NAN);
#undef REFUSED
    struct gpuaes_random r = random_of(GPUAES_RANDOM_RANGE, 10);
    r.element_bytes = 8;
    r.range = UINT64_MAX;
    r.first = UINT64_MAX / 16 - 9;
    right &= is_refused(&r, device, GPUAES_BAD_ARGUMENT, "the end of a keystream, 16 bytes each");
    r = random_of(GPUAES_RANDOM_BYTES, 1000);
    right &= is_refused(&r, pageable, GPUAES_BAD_RANGE, "pageable memory");
    right &= is_refused(&r, device + 4000, GPUAES_BAD_RANGE, "past the end of an allocation");
    r.key = raw_keys;
    right &= is_refused(&r, device, GPUAES_BAD_RANGE, "a key in pageable memory");
    r.key = device + 4096 - KEY + 1;
    right &= is_refused(&r, device, GPUAES_BAD_RANGE, "a key past the end of an allocation");
    r.key = keys;
    enum gpuaes_status status = LIBRARY(gpuaes_random_queue)(&r, device, NULL, 63);
    right &= status == GPUAES_BAD_ARGUMENT;
    r.count = 0;
    right &= is_refused(&r, NULL, GPUAES_OK, "nothing to do");
    r = random_of(GPUAES_RANDOM_BYTES, 1000);
    right &= runs(&r, 0);
    application_free(DEVICE, device);
    free(pageable);
    return end(right);
}

int main(int argc, char **argv)
{
    static const struct case_row cases[] = {
        {"every kind, as the size decides", NULL, NULL, check_random},
        {"every kind by the small kernel", "GPUAES_KERNEL=small", NULL, check_random},
        {"every kind by the large kernel", "GPUAES_KERNEL=two_table", NULL, check_random},
        {"large sizes", NULL, NULL, check_sizes},
        {"ends of ranges, of probabilities and of the keystream", NULL, NULL, check_edges},
        {"half types at all sizes of numbers", NULL, NULL, check_halves},
        {"parts and the whole", NULL, NULL, check_parts},
        {"moments of normal numbers", NULL, NULL, check_moments},
        {"graphs that run twice", NULL, NULL, check_graph},
        {"keys at any alignment; managed and pinned memory", NULL, NULL, check_memory},
        {"keys that earlier work of the stream writes", NULL, NULL, check_order},
        {"what is refused", NULL, NULL, check_refused},
    };
    if (argc > 1)
        return case_named(argv[1], cases);
    cases_check(cases, sizeof cases / sizeof cases[0], 2);
    return tap_done();
}
