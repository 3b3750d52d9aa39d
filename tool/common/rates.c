/*
 * Rates of updates through EVP.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/common/rates.h"

#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/gpuaes.h"
#include "tool/common/json.h"
#include "tool/common/turns.h"

const struct rates_row rates_rows[RATES_WORKS] = {
    [RATES_CTR] = {"CTR", "AES-256-CTR", 1, 0},
    [RATES_ECB_ENCRYPT] = {"ECB encrypt", "AES-256-ECB", 1, 0},
    [RATES_ECB_DECRYPT] = {"ECB decrypt", "AES-256-ECB", 0, 0},
    [RATES_CBC_DECRYPT] = {"CBC decrypt", "AES-256-CBC", 0, 0},
    [RATES_CBC_ENCRYPT] = {"CBC encrypt", "AES-256-CBC", 1, 0},
    [RATES_BASE64_ENCODE] = {"Base64 encode", "BASE64", 1, 1},
    [RATES_BASE64_DECODE] = {"Base64 decode", "BASE64", 0, 1},
};

/* ---- The device -------------------------------------------------------------------------- */

void rates_want_device(void)
{
    (void)setenv("GPUAES_START", "eager", 0);
}

static int is_set_to(const char *name, const char *value)
{
    const char *is = secure_getenv(name);
    return is != NULL && strcmp(is, value) == 0;
}

int rates_wait_for_device(struct library *library, const char **why_not)
{
    *why_not = "";
    if (is_set_to("GPUAES_POLICY", "cpu"))
        *why_not = "GPUAES_POLICY=cpu in the environment forbids it";
    else if (is_set_to("GPUAES_START", "never"))
        *why_not = "GPUAES_START=never in the environment forbids it";
    if ((*why_not)[0] != '\0')
        return 0;
    library_start_device(library);
    if (gpuaes_start(NULL, NULL, 1) == GPUAES_READY)
        return 1;
    *why_not = gpuaes_reason();
    return 0;
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

void rates_print_json(enum rates_work work, enum rates_memory memory, size_t bytes,
                      const struct rate *rate)
{
    json_open(NULL, '{');
    json_text("work", rates_rows[work].name);
    json_text("memory", memory == RATES_PINNED ? "pinned" : "pageable");
    json_count("bytes", bytes);
    json_text("processor", rate->by_gpu ? "GPU" : "CPU");
    json_figure("gpuaes", rate->ours);
    json_figure("default", rate->theirs);
    json_close('}');
}

/* ---- One case ------------------------------------------------------------------------------ */

struct turn {
    const struct rates_row *row;
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

static EVP_CIPHER_CTX *new_context(const struct rates *rates, const struct rates_row *row,
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

int rates_measure(struct rates *rates, enum rates_work work, enum rates_memory memory, size_t bytes,
                  double seconds, struct rate *rate)
{
    const struct rates_row *row = &rates_rows[work];
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
