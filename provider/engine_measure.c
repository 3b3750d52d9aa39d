/*
 * Measuring both engines.
 *
 * The device is a line through measured points, the CPU a rate, both measured
 * on data in the CPU's caches. For larger work in pageable memory both are
 * slower; there the rates are those of the application's own updates.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "engine_measure.h"

#include <math.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu.h"
#include "provider.h"

enum { POINTS = 4, KINDS = 2, GPU_ROUNDS = 3, CPU_ROUNDS = 3, CPU_SAMPLE = 192 << 10 };
#define LARGEST ((size_t)4 << 20)
static const double SLOW_NS = 5e6;

static const size_t lengths[POINTS] = {MEASURE_FLOOR, 256 << 10, 1 << 20, LARGEST};

static _Atomic double gpu_ns[ENGINE_WORKS][KINDS][POINTS]; /* 0: not measured */

enum { PLACEMENTS = 2 }; /* apart, and in place */

/*
 * Pageable memory of this size and more has a rate of its own: it may be
 * registered, which the line through the points knows nothing of.
 */
#define HUGE_SAMPLE ((size_t)16 << 20)
static _Atomic double gpu_huge_ns[ENGINE_WORKS][PLACEMENTS];

/* Nanoseconds a byte; 0: not known. */
static _Atomic double cpu_cached[ENGINE_WORKS][AES_KEY_SIZES];

enum { FIRST_RETRY = 8, MOST_RETRIES = 10 };
enum { SIZES = 4, ENGINES = 2 }; /* sizes: each four times the one before */
static struct observation {
    _Atomic double rates[ENGINES];
    atomic_uint choices; /* since the engine that lost was tried last */
    atomic_uint retries;
} observed[ENGINE_WORKS][AES_KEY_SIZES][SIZES][PLACEMENTS];

double measure_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* fmin() would bring libm along. */
static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ---- The device -------------------------------------------------------------------- */

/* A buffer of both input and output; Base64 needs more room for the latter. */
struct sample {
    unsigned char *in, *out;
};

static int run_gpu(enum engine_work work, const struct gpuaes_key *key, const struct sample *s,
                   size_t len, int in_place)
{
    unsigned char iv[GPUAES_BLOCK] = {0};
    if (work == WORK_BASE64_ENCODE)
        return gpuaes_base64_encode(s->in, len, s->out, 0, GPUAES_WAIT) == GPUAES_OK;
    if (work == WORK_BASE64_DECODE)
        return gpuaes_base64_decode(s->in, len, s->out, GPUAES_WAIT, NULL) == GPUAES_OK;
    return gpuaes_aes((enum gpuaes_op)work, key, iv, in_place ? s->out : s->in, s->out, len,
                      GPUAES_WAIT, NULL) == GPUAES_OK;
}

static double best_gpu(enum engine_work work, const struct gpuaes_key *key, const struct sample *s,
                       size_t len, int in_place)
{
    double best = HUGE_VAL;
    for (int i = 0; i < GPU_ROUNDS; i++) {
        double begun = measure_now_ns();
        if (!run_gpu(work, key, s, len, in_place))
            return HUGE_VAL;
        best = smaller(best, measure_now_ns() - begun);
        if (best > SLOW_NS)
            break;
    }
    return best;
}

/* A device that is slow is not measured at length: its rate stands for the rest. */
static void measure_work(enum engine_work work, int pinned, const struct gpuaes_key *key,
                         const struct sample *s)
{
    double ns = 0;
    for (int i = 0; i < POINTS; i++) {
        if (i > 0 && ns > SLOW_NS)
            ns *= (double)lengths[i] / (double)lengths[i - 1];
        else
            ns = best_gpu(work, key, s, lengths[i], 1); /* CBC pays for that with a copy */
        atomic_store(&gpu_ns[work][pinned][i], ns);
    }
}

static void measure_kind(int pinned, const struct sample *s)
{
    static const unsigned char zero_key[32];
    struct gpuaes_key key;
    (void)gpuaes_key_expand(&key, zero_key, sizeof zero_key);
    memset(s->in, 'A', LARGEST); /* valid Base64 */
    memset(s->out, 0, LARGEST * 4 / 3 + 4);
    for (int work = 0; work < ENGINE_WORKS; work++)
        measure_work((enum engine_work)work, pinned, &key, s);
}

/* For AES: Base64 is never registered. */
static void measure_huge(const struct sample *s)
{
    static const unsigned char zero_key[32];
    struct gpuaes_key key;
    (void)gpuaes_key_expand(&key, zero_key, sizeof zero_key);
    memset(s->in, 0, HUGE_SAMPLE);
    memset(s->out, 0, HUGE_SAMPLE);
    for (int work = 0; work < GPUAES_OPS; work++)
        for (int in_place = 0; in_place < PLACEMENTS; in_place++)
            if (atomic_load(&gpu_ns[work][0][POINTS - 1]) < SLOW_NS)
                atomic_store(&gpu_huge_ns[work][in_place],
                             best_gpu((enum engine_work)work, &key, s, HUGE_SAMPLE, in_place));
}

void measure_gpu(void)
{
    size_t out_bytes = LARGEST * 4 / 3 + 4;
    struct sample pageable = {malloc(LARGEST), malloc(out_bytes)};
    struct sample pinned = {gpuaes_pinned_alloc(LARGEST), gpuaes_pinned_alloc(out_bytes)};
    if (pageable.in != NULL && pageable.out != NULL)
        measure_kind(0, &pageable);
    if (pinned.in != NULL && pinned.out != NULL)
        measure_kind(1, &pinned);
    free(pageable.in);
    free(pageable.out);
    gpuaes_pinned_free(pinned.in, LARGEST);
    gpuaes_pinned_free(pinned.out, out_bytes);
    struct sample huge = {malloc(HUGE_SAMPLE), malloc(HUGE_SAMPLE)};
    if (huge.in != NULL && huge.out != NULL)
        measure_huge(&huge);
    free(huge.in);
    free(huge.out);
}

double measured_gpu_ns(const struct work *work, int pinned)
{
    int i = 1;
    double huge = atomic_load(&gpu_huge_ns[work->kind][work->in == work->out]);
    if (!pinned && work->len >= HUGE_SAMPLE && huge > 0)
        return huge * ((double)work->len / (double)HUGE_SAMPLE);
    while (i < POINTS - 1 && work->len > lengths[i])
        i++;
    double low = atomic_load(&gpu_ns[work->kind][pinned][i - 1]);
    double high = atomic_load(&gpu_ns[work->kind][pinned][i]);
    if (low <= 0 || high <= 0 || !(low < HUGE_VAL) || !(high < HUGE_VAL))
        return HUGE_VAL;
    double slope = (high - low) / (double)(lengths[i] - lengths[i - 1]);
    /* Beyond the last point, too; never a rate below zero because of noise. */
    return low + (slope > 0 ? slope : 0) * ((double)work->len - (double)lengths[i - 1]);
}

/* ---- The CPU ------------------------------------------------------------------------ */

static int run_cpu_aes(struct provider *provider, enum engine_work work, unsigned key_bytes,
                       unsigned char *buffer)
{
    static const unsigned char zeros[32];
    static const enum aes_mode modes[] = {[WORK_ECB_ENCRYPT] = AES_ECB,
                                          [WORK_ECB_DECRYPT] = AES_ECB,
                                          [WORK_CBC_DECRYPT] = AES_CBC,
                                          [WORK_CTR] = AES_CTR};
    enum aes_mode mode = modes[work];
    const struct cpu_cipher *cipher = cpu_cipher(mode, key_bytes);
    int decrypts = work == WORK_ECB_DECRYPT || work == WORK_CBC_DECRYPT;
    OSSL_FUNC_cipher_encrypt_init_fn *init = decrypts ? cipher->decrypt_init : cipher->encrypt_init;
    size_t written, iv_bytes = mode == AES_ECB ? 0 : GPUAES_BLOCK;
    void *context = cipher->newctx(provider->cpu.context);
    int ok =
        context != NULL && init(context, zeros, key_bytes, zeros, iv_bytes, NULL) &&
        cipher->update(context, buffer, &written, CPU_SAMPLE + GPUAES_BLOCK, buffer, CPU_SAMPLE);
    if (context != NULL)
        cipher->freectx(context);
    return ok;
}

/* libcrypto's: where another library does it, that is at most as slow. */
static int run_cpu_base64(enum engine_work work, unsigned char *buffer)
{
    unsigned char *out = buffer + CPU_SAMPLE;
    memset(buffer, 'A', CPU_SAMPLE);
    if (work == WORK_BASE64_ENCODE)
        return EVP_EncodeBlock(out, buffer, CPU_SAMPLE) > 0;
    return EVP_DecodeBlock(out, buffer, CPU_SAMPLE) > 0;
}

static double measure_cpu(struct provider *provider, enum engine_work work, unsigned key_bytes)
{
    unsigned char *buffer = OPENSSL_zalloc((size_t)CPU_SAMPLE * 3);
    double best = HUGE_VAL;
    for (int i = 0; i < CPU_ROUNDS && buffer != NULL; i++) {
        double begun = measure_now_ns();
        int ok = key_bytes == 0 ? run_cpu_base64(work, buffer)
                                : run_cpu_aes(provider, work, key_bytes, buffer);
        if (ok)
            best = smaller(best, measure_now_ns() - begun);
    }
    OPENSSL_free(buffer);
    /* Not to be measured again if it failed: then the CPU counts as fast. */
    return best < HUGE_VAL ? best / CPU_SAMPLE : 1e-9;
}

static unsigned key_index(unsigned key_bytes)
{
    return key_bytes == 0 ? 0 : key_bytes / 8 - 2;
}

double measured_cpu_ns(struct provider *provider, const struct work *work)
{
    _Atomic double *slot = &cpu_cached[work->kind][key_index(work->key_bytes)];
    double rate = atomic_load(slot);
    if (rate <= 0) {
        rate = measure_cpu(provider, work->kind, work->key_bytes);
        atomic_store(slot, rate);
    }
    return rate * (double)work->len;
}

/* ---- What was seen --------------------------------------------------------------------- */

static struct observation *observation(const struct work *work)
{
    int size = 0;
    for (size_t limit = (size_t)OBSERVED_FROM * 4; size < SIZES - 1 && work->len >= limit;
         limit *= 4)
        size++;
    return &observed[work->kind][key_index(work->key_bytes)][size][work->in == work->out];
}

double observed_ns(const struct work *work, int on_gpu)
{
    return atomic_load(&observation(work)->rates[on_gpu]) * (double)work->len;
}

/* What is better than before is believed at once: the first time often is the worst. */
void observe_ns(const struct work *work, int on_gpu, double ns)
{
    _Atomic double *slot = &observation(work)->rates[on_gpu];
    double rate = ns / (double)work->len, before = atomic_load(slot);
    atomic_store(slot, before > 0 && rate > before ? (3 * before + rate) / 4 : rate);
}

int observation_is_due(const struct work *work)
{
    struct observation *o = observation(work);
    unsigned retries = atomic_load(&o->retries);
    if (atomic_fetch_add(&o->choices, 1) + 1 < (unsigned)FIRST_RETRY << 2 * retries)
        return 0;
    atomic_store(&o->choices, 0);
    atomic_store(&o->retries, retries < MOST_RETRIES ? retries + 1 : retries);
    return 1;
}
