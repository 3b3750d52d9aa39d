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

static struct cost_line device_lines[POLICY_WORKS][2]; /* pageable; pinned */
static struct cost_line cpu_lines[POLICY_WORKS][KEY_SIZES];

/* Through the origin. */
static void set_rate(struct cost_line *line, size_t bytes, double ns)
{
    cost_line_set(line, bytes, ns, 2 * bytes, 2 * ns);
}

/* ---- The device -------------------------------------------------------------------- */

/* AES in place, which CBC pays for with a copy. */
static int run_device(enum policy_work work, const struct gpuaes_key *key, unsigned char *buffer,
                      size_t len)
{
    unsigned char iv[GPUAES_BLOCK] = {0}, *out = buffer + OUT_AT;
    if (work == WORK_BASE64_ENCODE)
        return gpuaes_base64_encode(buffer, len, out, 0, GPUAES_WAIT) == GPUAES_OK;
    if (work == WORK_BASE64_DECODE)
        return gpuaes_base64_decode(buffer, len, out, GPUAES_WAIT, NULL) == GPUAES_OK;
    return gpuaes_aes((enum gpuaes_op)work, key, iv, out, out, len, GPUAES_WAIT, NULL) == GPUAES_OK;
}

static double best_of(enum policy_work work, const struct gpuaes_key *key, unsigned char *buffer,
                      size_t len, int rounds)
{
    double best = HUGE_VAL;
    for (int i = 0; i < rounds; i++) {
        int64_t begun = clock_ns(CLOCK_MONOTONIC);
        if (!run_device(work, key, buffer, len))
            return HUGE_VAL;
        best = min_double(best, clock_ns_since(begun));
        if (i > 0 && best > slow_ns) /* the first call of all allocates */
            break;
    }
    return best;
}

static void sample_work(enum policy_work work, int pinned, const struct gpuaes_key *key,
                        unsigned char *buffer)
{
    double brief = best_of(work, key, buffer, SHORT_SAMPLE, SHORT_ROUNDS);
    double lengthy = brief * LONG_SAMPLE / SHORT_SAMPLE;
    if (brief <= slow_ns)
        lengthy = best_of(work, key, buffer, LONG_SAMPLE, LONG_ROUNDS);
    if (lengthy < HUGE_VAL)
        cost_line_set(&device_lines[work][pinned], SHORT_SAMPLE, brief, LONG_SAMPLE, lengthy);
}

static void sample_memory(int pinned, const struct gpuaes_key *key, unsigned char *buffer)
{
    if (buffer == NULL)
        return;
    memset(buffer, 'A', ROOM); /* valid Base64 */
    for (int work = 0; work < WORK_READ_AHEAD; work++)
        sample_work((enum policy_work)work, pinned, key, buffer);
}

/* ---- Keystream made ahead ------------------------------------------------------------ */

enum { AHEAD_PIECE = 16 << 10, AHEAD_SAMPLE = 8 << 20 };

/* What a piece takes a CPU, at 8 GB/s: it does it while a segment is an underrun. */
static const double ahead_piece_ns = 2048;
static const double ahead_most_ns = 20e6;

static void pass_time(double ns)
{
    int64_t begun = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns_since(begun) < ns)
        continue;
}

/*
 * What the CPU spends on a byte: the combination, and the orders. Whether the device keeps pace
 * is not asked: where it does not, segments are underruns, and the CPU goes on meanwhile as if
 * there were none. Sets no line if too little was made in time to tell.
 */
static void use_keystream(struct gpuaes_keystream *keystream, unsigned char *piece)
{
    double spent = 0;
    int64_t begun_all = clock_ns(CLOCK_MONOTONIC);
    size_t combined = 0;
    while (combined < AHEAD_SAMPLE && gpuaes_keystream_is_open(keystream) &&
           clock_ns_since(begun_all) < ahead_most_ns) {
        int64_t begun = clock_ns(CLOCK_MONOTONIC);
        size_t done = gpuaes_keystream_xor(keystream, piece, piece, AHEAD_PIECE);
        if (done < AHEAD_PIECE && gpuaes_keystream_order(keystream))
            done += gpuaes_keystream_xor(keystream, piece + done, piece + done, AHEAD_PIECE - done);
        spent += clock_ns_since(begun);
        combined += done;
        if (done == AHEAD_PIECE)
            continue;
        pass_time(ahead_piece_ns);
        gpuaes_keystream_skip(keystream, AHEAD_PIECE - done);
    }
    if (combined >= AHEAD_SAMPLE / 2)
        set_rate(&device_lines[WORK_READ_AHEAD][0], combined, spent);
}

/* With `buffer` of zeros or anything else. */
static void sample_read_ahead(const struct gpuaes_key *key, unsigned char *buffer)
{
    static const unsigned char zeros[GPUAES_BLOCK];
    struct gpuaes_keystream *keystream = NULL;
    if (buffer != NULL &&
        gpuaes_keystream_open(&keystream, key, zeros, GPUAES_ALLOCATE) == GPUAES_OK)
        use_keystream(keystream, buffer);
    gpuaes_keystream_close(keystream);
}

void calibrate_device(int reads_ahead)
{
    static const unsigned char zero_key[32];
    struct gpuaes_key key;
    unsigned char *pinned = gpuaes_pinned_alloc(ROOM), *pageable = malloc(ROOM);
    (void)gpuaes_key_expand(&key, zero_key, sizeof zero_key);
    sample_memory(1, &key, pinned);
    sample_memory(0, &key, pageable);
    if (reads_ahead)
        sample_read_ahead(&key, pageable);
    gpuaes_pinned_free(pinned, ROOM);
    free(pageable);
}

/* ---- The CPU ------------------------------------------------------------------------ */

static int run_cpu_aes(struct provider *provider, const struct work_row *row, unsigned key_bytes,
                       unsigned char *buffer)
{
    static const unsigned char zeros[32];
    const struct cpu_cipher *cipher = row->cpu[key_size_index(key_bytes)];
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        row->encrypts ? cipher->encrypt_init : cipher->decrypt_init;
    size_t written;
    void *context = cipher->newctx(provider->cpu.context);
    int ok =
        context != NULL && init(context, zeros, key_bytes, zeros, cipher->iv_bytes, NULL) &&
        cipher->update(context, buffer, &written, CPU_SAMPLE + GPUAES_BLOCK, buffer, CPU_SAMPLE);
    if (context != NULL)
        cipher->freectx(context);
    return ok;
}

/* libcrypto's: where another library does it, that is at most as slow. */
static int run_cpu_base64(int encodes, unsigned char *buffer)
{
    unsigned char *out = buffer + CPU_SAMPLE;
    memset(buffer, 'A', CPU_SAMPLE);
    return encodes ? EVP_EncodeBlock(out, buffer, CPU_SAMPLE) > 0
                   : EVP_DecodeBlock(out, buffer, CPU_SAMPLE) > 0;
}

static void sample_cpu(struct provider *provider, const struct work *work, struct cost_line *line)
{
    const struct work_row *row = &work_rows[work->kind];
    unsigned char *buffer = OPENSSL_zalloc((size_t)CPU_SAMPLE * 3);
    double best = HUGE_VAL;
    for (int i = 0; i < CPU_ROUNDS && buffer != NULL; i++) {
        int64_t begun = clock_ns(CLOCK_MONOTONIC);
        int ok = work->key_bytes == 0 ? run_cpu_base64(row->encrypts, buffer)
                                      : run_cpu_aes(provider, row, work->key_bytes, buffer);
        if (ok)
            best = min_double(best, clock_ns_since(begun));
    }
    OPENSSL_free(buffer);
    /* Not to be sampled again if it failed: then the CPU counts as fast. */
    set_rate(line, CPU_SAMPLE, best < HUGE_VAL ? best : 1);
}

void calibrated_ns(struct provider *provider, const struct work *work, double ns[MODEL_SIDES])
{
    struct cost_line *cpu = &cpu_lines[work->kind][key_size_index(work->key_bytes)];
    if (atomic_load(&cpu->per_byte) <= 0)
        sample_cpu(provider, work, cpu);
    ns[MODEL_CPU] = cost_line_ns(cpu, work->len);
    ns[MODEL_GPU] =
        cost_line_ns(&device_lines[work->kind][work->memory == MEMORY_PINNED], work->len);
}
