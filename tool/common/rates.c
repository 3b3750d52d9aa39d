/*
 * Rates of updates through EVP.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/common/rates.h"

#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tool/common/json.h"
#include "tool/common/turns.h"

const char *const rates_works[RATES_WORKS] = {"CTR",          "ECB encrypt", "ECB decrypt",
                                              "CBC decrypt",  "CBC encrypt", "Base64 encode",
                                              "Base64 decode"};
static const struct row {
    const char *cipher;
    int encrypts, is_base64;
} rows[RATES_WORKS] = {
    {"AES-256-CTR", 1, 0}, {"AES-256-ECB", 1, 0}, {"AES-256-ECB", 0, 0}, {"AES-256-CBC", 0, 0},
    {"AES-256-CBC", 1, 0}, {"BASE64", 1, 1},      {"BASE64", 0, 1},
};

/* ---- The device -------------------------------------------------------------------------- */

void rates_want_device(void)
{
    (void)setenv("GPUAES_START", "eager", 0);
}

static int forbids(const char *name, const char *value)
{
    const char *is = secure_getenv(name);
    return is != NULL && strcmp(is, value) == 0;
}

int rates_wait_for_device(struct library *library, const char **why_not)
{
    *why_not = "";
    if (forbids("GPUAES_POLICY", "cpu"))
        *why_not = "GPUAES_POLICY=cpu in the environment forbids it";
    else if (forbids("GPUAES_START", "never"))
        *why_not = "GPUAES_START=never in the environment forbids it";
    if ((*why_not)[0] != '\0')
        return 0;
    library_start_device(library);
    int ready = gpuaes_start(NULL, NULL, 1) == GPUAES_READY;
    *why_not = ready ? "" : gpuaes_reason();
    return ready;
}

void rates_describe(const struct gpuaes_device_info *device, char text[RATES_TEXT])
{
    (void)snprintf(
        text, RATES_TEXT, "%s, compute capability %d.%d, %d multiprocessors, driver for CUDA %d.%d",
        device->name, device->compute_major, device->compute_minor, device->multiprocessors,
        device->driver_version / 1000, device->driver_version % 1000 / 10);
}

/* ---- Buffers ------------------------------------------------------------------------------- */

/* Capacity of input and of output: enough for Base64. */
static size_t capacity(const struct rates *rates)
{
    return rates->most / 3 * 4 + 4096;
}

int rates_open(struct rates *rates, const struct library *library, size_t most)
{
    *rates = (struct rates){.library = library, .most = most};
    size_t bytes = 2 * capacity(rates);
    void *pageable = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pageable == MAP_FAILED)
        return 0;
    rates->memory[RATES_PAGEABLE] = pageable;
    rates->memory[RATES_PINNED] = gpuaes_pinned_alloc(bytes);
    for (int i = 0; i < 2; i++)
        if (rates->memory[i] != NULL)
            memset(rates->memory[i], 'A', bytes); /* Base64 as well */
    return 1;
}

void rates_close(struct rates *rates)
{
    if (rates->memory[RATES_PAGEABLE] != NULL)
        (void)munmap(rates->memory[RATES_PAGEABLE], 2 * capacity(rates));
    gpuaes_pinned_free(rates->memory[RATES_PINNED], 2 * capacity(rates));
    *rates = (struct rates){0};
}

/* ---- One case ------------------------------------------------------------------------------ */

struct turn {
    const struct row *row;
    EVP_CIPHER_CTX *contexts[SIDES]; /* of the reference: NULL where it is no cipher */
    const unsigned char *in;
    unsigned char *out;
    size_t bytes, capacity;
    int failed;
};

/* For so small updates as make no time of their own to be measured. */
enum { LEAST_BYTES = 256 << 10 };

static int update(struct turn *turn, int side)
{
    int n = 0;
    OSSL_PARAM outsize[] = {OSSL_PARAM_construct_size_t("outsize", &turn->capacity),
                            OSSL_PARAM_construct_end()};
    if (turn->contexts[side] == NULL)
        return (turn->row->encrypts ? EVP_EncodeBlock(turn->out, turn->in, (int)turn->bytes)
                                    : EVP_DecodeBlock(turn->out, turn->in, (int)turn->bytes)) > 0;
    return (!turn->row->is_base64 || EVP_CIPHER_CTX_set_params(turn->contexts[side], outsize)) &&
           EVP_CipherUpdate(turn->contexts[side], turn->out, &n, turn->in, (int)turn->bytes);
}

static size_t repeats(const struct turn *turn)
{
    return turn->bytes < LEAST_BYTES ? LEAST_BYTES / turn->bytes : 1;
}

static void take_turn(int side, void *argument)
{
    struct turn *turn = argument;
    for (size_t i = repeats(turn); i > 0; i--)
        if (!update(turn, side))
            turn->failed = 1;
}

static EVP_CIPHER_CTX *new_context(const struct rates *rates, const struct row *row,
                                   const char *properties)
{
    static const unsigned char zeros[32];
    const unsigned char *key = row->is_base64 ? NULL : zeros;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(rates->library->context, row->cipher, properties);
    EVP_CIPHER_CTX *context = cipher != NULL ? EVP_CIPHER_CTX_new() : NULL;
    if (context != NULL && (!EVP_CipherInit_ex2(context, cipher, key, key, row->encrypts, NULL) ||
                            (!row->is_base64 && !EVP_CIPHER_CTX_set_padding(context, 0)))) {
        EVP_CIPHER_CTX_free(context);
        context = NULL;
    }
    EVP_CIPHER_free(cipher);
    return context;
}

int rates_measure(struct rates *rates, int work, enum rates_memory memory, size_t bytes,
                  double seconds, struct rate *rate)
{
    const struct row *row = &rows[work];
    struct turn turn = {.row = row, .bytes = bytes / 12 * 12, .capacity = capacity(rates)};
    *rate = (struct rate){0};
    if (rates->memory[memory] == NULL || bytes > rates->most)
        return 0;
    if (!row->is_base64) {
        turn.bytes = bytes / 16 * 16;
        turn.contexts[REFERENCE] = new_context(rates, row, "provider=default");
    }
    turn.contexts[OURS] = new_context(rates, row, "provider=gpuaes");
    turn.in = rates->memory[memory];
    turn.out = rates->memory[memory] + capacity(rates);
    int ok = turn.contexts[OURS] != NULL && (row->is_base64 || turn.contexts[REFERENCE] != NULL);
    if (ok) {
        struct turns turns = {.turn = take_turn,
                              .argument = &turn,
                              .sides = SIDES,
                              .most = MOST_TURNS,
                              .limit = seconds};
        uint64_t before = library_figure(rates->library, "gpu-bytes");
        turns_take(&turns);
        uint64_t gpu = library_figure(rates->library, "gpu-bytes") - before;
        double all = (double)(turn.bytes * repeats(&turn));
        rate->ours = all / quantile(turns.seconds[OURS], turns.count, 0.5) / 1e9;
        rate->theirs = all / quantile(turns.seconds[REFERENCE], turns.count, 0.5) / 1e9;
        rate->by_gpu = (double)gpu > 0.5 * all * (double)turns.count;
    }
    EVP_CIPHER_CTX_free(turn.contexts[OURS]);
    EVP_CIPHER_CTX_free(turn.contexts[REFERENCE]);
    return ok && !turn.failed;
}

/* ---- Tables -------------------------------------------------------------------------------- */

/* "64 KiB", "1 MiB"; in the largest unit that has a whole number of them. */
static void print_size(const char *work, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    (void)printf("%-14s %*zu %s", work, 7 - (int)strlen(units[unit]), bytes, units[unit]);
}

static void print_text(const struct rate measured[2])
{
    const struct rate *pageable = &measured[RATES_PAGEABLE];
    (void)printf(" %9.2f", pageable->theirs);
    for (const struct rate *rate = measured; rate < measured + 2; rate++)
        if (rate->ours > 0)
            (void)printf("  %8.2f %5.1fx %s", rate->ours, rate->ours / rate->theirs,
                         rate->by_gpu ? "GPU" : "CPU");
        else
            (void)printf("  %8s %6s %-3s", "-", "", "");
    (void)printf("\n");
    (void)fflush(stdout);
}

static void print_json(const char *work, size_t bytes, const struct rate measured[2])
{
    for (int memory = RATES_PAGEABLE; memory <= RATES_PINNED; memory++) {
        if (measured[memory].ours <= 0)
            continue;
        json_open(NULL, '{');
        json_text("work", work);
        json_text("memory", memory == RATES_PINNED ? "pinned" : "pageable");
        json_value("bytes", "%zu", bytes);
        json_text("processor", measured[memory].by_gpu ? "GPU" : "CPU");
        json_value("gpuaes", "%.3f", measured[memory].ours);
        json_value("default", "%.3f", measured[memory].theirs);
        json_close('}');
    }
}

static void print_row(struct rates *rates, int work, size_t bytes, double seconds, int as_json)
{
    struct rate measured[2];
    for (int memory = RATES_PAGEABLE; memory <= RATES_PINNED; memory++)
        if (!rates_measure(rates, work, (enum rates_memory)memory, bytes, seconds,
                           &measured[memory]))
            measured[memory] = (struct rate){0};
    if (as_json) {
        print_json(rates_works[work], bytes, measured);
        return;
    }
    print_size(rates_works[work], bytes);
    print_text(measured);
}

void rates_print(struct rates *rates, const struct rates_plan *plan, const char *json_name)
{
    if (json_name != NULL)
        json_open(json_name, '[');
    else
        (void)printf("AES-256, GB/s           %9s  %-18s  %-18s\n%-14s %8s %9s  %-18s  %-18s\n",
                     "default", "pageable memory", "pinned memory", "", "update", "provider",
                     "  gpuaes", "  gpuaes");
    for (int work = 0; work < RATES_WORKS; work++)
        for (int i = 0; !plan->skips[work] && i < plan->size_count; i++)
            print_row(rates, work, plan->sizes[i], plan->seconds, json_name != NULL);
    if (json_name != NULL)
        json_close(']');
}
