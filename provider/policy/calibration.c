/*
 * Samples of CPU and GPU, small ones: what is larger, or not in the caches, is
 * left to the application's own work to show (cost_model.h).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "provider/policy/calibration.h"

#include <math.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/key_size.h"
#include "base/minmax.h"
#include "provider/common/default_ciphers.h"
#include "provider/common/provider.h"
#include "provider/policy/cost_model.h"

enum { SHORT_SAMPLE = MEASURE_FLOOR, LONG_SAMPLE = 384 << 10, CPU_SAMPLE = 192 << 10 };
enum { SHORT_ROUNDS = 3, LONG_ROUNDS = 2, CPU_ROUNDS = 3 };
/* Base64 of the long sample fits. */
enum { OUT_AT = LONG_SAMPLE, ROOM = OUT_AT + LONG_SAMPLE / 3 * 4 };

/* A device this slow is not sampled at length: its rate stands for the rest. */
static const double slow_ns = 2e6;

struct work_row work_rows[POLICY_WORKS] = {
    [WORK_BASE64_ENCODE] = {.name = "Base64 encode"},
    [WORK_BASE64_DECODE] = {.name = "Base64 decode"},
};

static struct cost_line gpu_lines[POLICY_WORKS][WORK_MEMORIES];

/* Nanoseconds a byte; 0: not known. */
static _Atomic double cpu_cached[POLICY_WORKS][KEY_SIZES];

/* ---- The device -------------------------------------------------------------------- */

/* AES in place in pinned memory, which CBC pays for with a copy. */
static int run_gpu(enum policy_work work, enum work_memory memory, const struct gpuaes_gcm_key *key,
                   unsigned char *buffer, size_t len)
{
    unsigned char iv[GPUAES_BLOCK] = {0}, *out = buffer + OUT_AT;
    const unsigned char *in = memory == MEMORY_OUT_OF_PLACE ? buffer : out;
    struct gpuaes_gcm_state state = {{0}, {0}};
    if (work == WORK_BASE64_ENCODE)
        return gpuaes_base64_encode(buffer, len, out, 0, GPUAES_WAIT) == GPUAES_OK;
    if (work == WORK_BASE64_DECODE)
        return gpuaes_base64_decode(buffer, len, out, GPUAES_WAIT, NULL) == GPUAES_OK;
    if (work == WORK_GCM_ENCRYPT || work == WORK_GCM_DECRYPT)
        return gpuaes_gcm((enum gpuaes_op)work, key, &state, in, out, len, GPUAES_WAIT, NULL) ==
               GPUAES_OK;
    return gpuaes_aes((enum gpuaes_op)work, &key->schedule, iv, in, out, len, GPUAES_WAIT, NULL) ==
           GPUAES_OK;
}

static double best_gpu(enum policy_work work, enum work_memory memory,
                       const struct gpuaes_gcm_key *key, unsigned char *buffer, size_t len,
                       int rounds)
{
    double best = HUGE_VAL;
    for (int i = 0; i < rounds; i++) {
        int64_t begun = clock_ns(CLOCK_MONOTONIC);
        if (!run_gpu(work, memory, key, buffer, len))
            return HUGE_VAL;
        best = min_double(best, clock_ns_since(begun));
        if (i > 0 && best > slow_ns) /* the first call of all allocates */
            break;
    }
    return best;
}

static int is_slow(const struct cost_line *line)
{
    double brief = cost_line_ns(line, SHORT_SAMPLE);
    return brief > slow_ns && brief < HUGE_VAL;
}

static void measure_work(enum policy_work work, enum work_memory memory,
                         const struct gpuaes_gcm_key *key, unsigned char *buffer)
{
    /* So slow a device takes as long in any memory. */
    if (memory != MEMORY_PINNED && is_slow(&gpu_lines[work][MEMORY_PINNED])) {
        gpu_lines[work][memory] = gpu_lines[work][MEMORY_PINNED];
        return;
    }
    double brief = best_gpu(work, memory, key, buffer, SHORT_SAMPLE, SHORT_ROUNDS);
    double lengthy = brief * LONG_SAMPLE / SHORT_SAMPLE;
    if (brief <= slow_ns)
        lengthy = best_gpu(work, memory, key, buffer, LONG_SAMPLE, LONG_ROUNDS);
    if (lengthy < HUGE_VAL)
        cost_line_set(&gpu_lines[work][memory], SHORT_SAMPLE, brief, LONG_SAMPLE, lengthy);
}

static void measure_memory(enum work_memory memory, unsigned char *buffer)
{
    static const unsigned char zero_key[32];
    struct gpuaes_gcm_key key;
    if (buffer == NULL)
        return;
    (void)gpuaes_gcm_key_expand(&key, zero_key, sizeof zero_key);
    memset(buffer, 'A', ROOM); /* valid Base64 */
    for (enum policy_work work = 0; work < POLICY_WORKS; work++)
        if (work_rows[work].name != NULL &&
            work != WORK_CBC_ENCRYPT) /* one message of it is never for the device */
            measure_work(work, memory, &key, buffer);
}

void measure_gpu(void)
{
    unsigned char *pinned = gpuaes_pinned_alloc(ROOM), *pageable = malloc(ROOM);
    measure_memory(MEMORY_PINNED, pinned);
    measure_memory(MEMORY_OUT_OF_PLACE, pageable);
    measure_memory(MEMORY_IN_PLACE, pageable);
    gpuaes_pinned_free(pinned, ROOM);
    free(pageable);
}

double measured_gpu_ns(const struct work *work)
{
    return cost_line_ns(&gpu_lines[work->kind][work->memory], work->len);
}

/* ---- The CPU ------------------------------------------------------------------------ */

static int run_cpu_aes(struct provider *provider, enum policy_work work, unsigned key_bytes,
                       unsigned char *buffer)
{
    static const unsigned char key[64] = {1}, iv[GPUAES_BLOCK]; /* XTS wants halves that differ */
    const struct work_row *row = &work_rows[work];
    const struct cpu_cipher *cipher = row->cpu[key_size_index(key_bytes)];
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        row->encrypts ? cipher->encrypt_init : cipher->decrypt_init;
    size_t written;
    void *context = cipher->newctx(provider->cpu.context);
    int ok =
        context != NULL && init(context, key, cipher->key_bytes, iv, cipher->iv_bytes, NULL) &&
        cipher->update(context, buffer, &written, CPU_SAMPLE + GPUAES_BLOCK, buffer, CPU_SAMPLE);
    if (context != NULL)
        cipher->freectx(context);
    return ok;
}

/* libcrypto's: where another library does it, that is at most as slow. */
static int run_cpu_base64(enum policy_work work, unsigned char *buffer)
{
    unsigned char *out = buffer + CPU_SAMPLE;
    memset(buffer, 'A', CPU_SAMPLE);
    if (work == WORK_BASE64_ENCODE)
        return EVP_EncodeBlock(out, buffer, CPU_SAMPLE) > 0;
    return EVP_DecodeBlock(out, buffer, CPU_SAMPLE) > 0;
}

static double measure_cpu(struct provider *provider, enum policy_work work, unsigned key_bytes)
{
    unsigned char *buffer = OPENSSL_zalloc((size_t)CPU_SAMPLE * 3);
    double best = HUGE_VAL;
    for (int i = 0; i < CPU_ROUNDS && buffer != NULL; i++) {
        int64_t begun = clock_ns(CLOCK_MONOTONIC);
        int ok = key_bytes == 0 ? run_cpu_base64(work, buffer)
                                : run_cpu_aes(provider, work, key_bytes, buffer);
        if (ok)
            best = min_double(best, clock_ns_since(begun));
    }
    OPENSSL_free(buffer);
    /* Not to be measured again if it failed: then the CPU counts as fast. */
    return best < HUGE_VAL ? best / CPU_SAMPLE : 1e-9;
}

size_t measured_floor(enum policy_work work, unsigned key_bytes)
{
    double rate =
        atomic_load_explicit(&cpu_cached[work][key_size_index(key_bytes)], memory_order_relaxed);
    const struct cost_line *lines = gpu_lines[work];
    size_t from = SIZE_MAX;
    for (int memory = 0; memory < WORK_MEMORIES; memory++) {
        if (rate <= 0 || !(cost_line_ns(&lines[memory], MEASURE_FLOOR) < HUGE_VAL))
            return MEASURE_FLOOR;
        from = min_u64(from, cost_line_gains_from(&lines[memory], rate));
    }
    return from < MEASURE_FLOOR ? MEASURE_FLOOR : from;
}

double measured_cpu_ns(struct provider *provider, const struct work *work)
{
    _Atomic double *slot = &cpu_cached[work->kind][key_size_index(work->key_bytes)];
    double rate = atomic_load(slot);
    if (rate <= 0) {
        rate = measure_cpu(provider, work->kind, work->key_bytes);
        atomic_store(slot, rate);
    }
    return rate * (double)work->len;
}
