/*
 * Rates of updates through EVP.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/common/rates.h"

#include <openssl/err.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tool/common/message.h"
#include "tool/common/turns.h"

/* AEAD: each update is a message, with its IV and its tag. */
enum kind { MODE, AEAD, BASE64 };

/* The largest data unit of XTS that libcrypto takes. */
enum { XTS_MOST = 16 << 20 };

static const struct row {
    const char *name, *cipher;
    int encrypts;
    enum kind kind;
    size_t most; /* bytes of an update */
} rows[] = {
    {"CTR", "AES-256-CTR", 1, MODE, SIZE_MAX},
    {"ECB encrypt", "AES-256-ECB", 1, MODE, SIZE_MAX},
    {"ECB decrypt", "AES-256-ECB", 0, MODE, SIZE_MAX},
    {"CBC decrypt", "AES-256-CBC", 0, MODE, SIZE_MAX},
    {"CBC encrypt", "AES-256-CBC", 1, MODE, SIZE_MAX},
    {"GCM encrypt", "AES-256-GCM", 1, AEAD, SIZE_MAX},
    {"GCM decrypt", "AES-256-GCM", 0, AEAD, SIZE_MAX},
    {"XTS encrypt", "AES-256-XTS", 1, MODE, XTS_MOST},
    {"XTS decrypt", "AES-256-XTS", 0, MODE, XTS_MOST},
    {"Base64 encode", "BASE64", 1, BASE64, SIZE_MAX},
    {"Base64 decode", "BASE64", 0, BASE64, SIZE_MAX},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Bytes of an update. */
static const size_t sizes[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0], SHORT_SIZES = 3 };

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

const char *rates_forbidden(void)
{
    if (forbids("GPUAES_POLICY", "cpu"))
        return "GPUAES_POLICY=cpu in the environment forbids it";
    if (forbids("GPUAES_START", "never"))
        return "GPUAES_START=never in the environment forbids it";
    return NULL;
}

/* The provider starts its device in the background, and measures, for a context for AES. */
static void start_device(const struct library *library)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(library->context, "AES-256-CTR", "provider=gpuaes");
    EVP_CIPHER_CTX *context = cipher != NULL ? EVP_CIPHER_CTX_new() : NULL;
    if (context != NULL)
        (void)EVP_CipherInit_ex2(context, cipher, NULL, NULL, 1, NULL);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
}

int rates_wait_for_device(struct library *library, const char **why_not)
{
    *why_not = rates_forbidden();
    if (*why_not != NULL)
        return 0;
    start_device(library);
    int ready = gpuaes_start(NULL, NULL, 1) == GPUAES_READY;
    *why_not = ready ? "" : gpuaes_reason();
    return ready;
}

void rates_describe(unsigned n, const struct gpuaes_device_info *device, char text[RATES_TEXT])
{
    int toolkit = gpuaes_device_toolkit(n);
    (void)snprintf(text, RATES_TEXT,
                   "%s, compute capability %d.%d, %d multiprocessors, driver for CUDA %d.%d, "
                   "kernels of CUDA %d.%d",
                   device->name, device->compute_major, device->compute_minor,
                   device->multiprocessors, device->driver_version / 1000,
                   device->driver_version % 1000 / 10, toolkit / 1000, toolkit % 1000 / 10);
}

/* ---- Buffers ------------------------------------------------------------------------------- */

enum { PAGEABLE, PINNED, MEMORIES };

struct rates {
    const struct library *library;
    size_t capacity;                 /* of input and of output */
    unsigned char *memory[MEMORIES]; /* NULL: there is none */
};

struct rate {
    double ours, theirs; /* GB/s of input, medians; theirs: the default provider's or libcrypto's */
    int by_gpu;          /* most of ours */
};

static int open_buffers(struct rates *rates, size_t most)
{
    rates->capacity = most / 3 * 4 + 4096; /* enough for Base64 */
    size_t bytes = 2 * rates->capacity;
    void *pageable = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pageable == MAP_FAILED)
        return complain("there is no memory for buffers");
    rates->memory[PAGEABLE] = pageable;
    rates->memory[PINNED] = gpuaes_pinned_alloc(bytes);
    for (int i = 0; i < MEMORIES; i++)
        if (rates->memory[i] != NULL)
            memset(rates->memory[i], 'A', bytes); /* Base64 as well */
    return 1;
}

static void close_buffers(struct rates *rates)
{
    (void)munmap(rates->memory[PAGEABLE], 2 * rates->capacity);
    gpuaes_pinned_free(rates->memory[PINNED], 2 * rates->capacity);
}

/* ---- One case ------------------------------------------------------------------------------ */

enum { TAG = 16 };

/* Two keys of XTS, which must differ, or one; and the IV. */
static const unsigned char key[64] = {1};

struct turn {
    const struct row *row;
    EVP_CIPHER_CTX *contexts[SIDES]; /* of the reference: NULL where it is no cipher */
    const unsigned char *in;
    unsigned char *out, tag[TAG];
    size_t bytes, capacity;
    int failed;
};

/* For so small updates as make no time of their own to be measured. */
enum { LEAST_BYTES = 256 << 10 };

static int encode(struct turn *turn, int side)
{
    int n = 0;
    OSSL_PARAM outsize[] = {OSSL_PARAM_construct_size_t("outsize", &turn->capacity),
                            OSSL_PARAM_construct_end()};
    if (turn->contexts[side] == NULL)
        return (turn->row->encrypts ? EVP_EncodeBlock(turn->out, turn->in, (int)turn->bytes)
                                    : EVP_DecodeBlock(turn->out, turn->in, (int)turn->bytes)) > 0;
    return EVP_CIPHER_CTX_set_params(turn->contexts[side], outsize) &&
           EVP_CipherUpdate(turn->contexts[side], turn->out, &n, turn->in, (int)turn->bytes);
}

/* A message of GCM; encryption writes its tag, decryption checks it. */
static int take_message(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *in,
                        size_t bytes, unsigned char tag[TAG])
{
    unsigned char rest[TAG];
    int n = 0, encrypts = EVP_CIPHER_CTX_is_encrypting(context);
    return EVP_CipherInit_ex2(context, NULL, NULL, key, -1, NULL) &&
           EVP_CipherUpdate(context, out, &n, in, (int)bytes) &&
           (encrypts || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG, tag) > 0) &&
           EVP_CipherFinal_ex(context, rest, &n) &&
           (!encrypts || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG, tag) > 0);
}

static int update(struct turn *turn, int side)
{
    EVP_CIPHER_CTX *context = turn->contexts[side];
    int n = 0;
    if (turn->row->kind == BASE64)
        return encode(turn, side);
    if (turn->row->kind == AEAD)
        return take_message(context, turn->out, turn->in, turn->bytes, turn->tag);
    return EVP_CipherUpdate(context, turn->out, &n, turn->in, (int)turn->bytes);
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
    int is_aes = row->kind != BASE64;
    const unsigned char *its_key = is_aes ? key : NULL;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(rates->library->context, row->cipher, properties);
    EVP_CIPHER_CTX *context = cipher != NULL ? EVP_CIPHER_CTX_new() : NULL;
    if (context != NULL &&
        (!EVP_CipherInit_ex2(context, cipher, its_key, its_key, row->encrypts, NULL) ||
         (is_aes && !EVP_CIPHER_CTX_set_padding(context, 0)))) {
        EVP_CIPHER_CTX_free(context);
        context = NULL;
    }
    EVP_CIPHER_free(cipher);
    return context;
}

/* Finds the tag with which the input is authentic: it is decrypted, and encrypted again. */
static int make_tag(const struct rates *rates, struct turn *turn)
{
    const struct row encryption = {.cipher = turn->row->cipher, .encrypts = 1, .kind = AEAD};
    EVP_CIPHER_CTX *context = new_context(rates, &encryption, "provider=default");
    int n = 0, ok = context != NULL &&
                    EVP_CipherUpdate(turn->contexts[REFERENCE], turn->out, &n, turn->in,
                                     (int)turn->bytes) &&
                    take_message(context, turn->out, turn->out, turn->bytes, turn->tag);
    EVP_CIPHER_CTX_free(context);
    return ok;
}

static int open_turn(const struct rates *rates, struct turn *turn)
{
    const struct row *row = turn->row;
    turn->contexts[OURS] = new_context(rates, row, "provider=gpuaes");
    if (row->kind == BASE64)
        return turn->contexts[OURS] != NULL;
    turn->contexts[REFERENCE] = new_context(rates, row, "provider=default");
    return turn->contexts[OURS] != NULL && turn->contexts[REFERENCE] != NULL &&
           (row->kind != AEAD || row->encrypts || make_tag(rates, turn));
}

/* Measures for so many seconds; the rates are 0 where it cannot be done. */
static struct rate measure(const struct rates *rates, const struct row *row, int memory,
                           size_t bytes, double seconds)
{
    static const size_t units[] = {[MODE] = 16, [AEAD] = 1, [BASE64] = 12};
    size_t unit = units[row->kind];
    struct turn turn = {.row = row,
                        .bytes = bytes / unit * unit,
                        .capacity = rates->capacity,
                        .in = rates->memory[memory]};
    struct rate rate = {0};
    if (rates->memory[memory] == NULL)
        return rate;
    turn.out = rates->memory[memory] + rates->capacity;
    if (open_turn(rates, &turn)) {
        struct turns turns = {.turn = take_turn,
                              .argument = &turn,
                              .sides = SIDES,
                              .most = MOST_TURNS,
                              .limit = seconds};
        uint64_t before = library_figure(rates->library, "gpu-bytes");
        turns_take(&turns);
        uint64_t gpu = library_figure(rates->library, "gpu-bytes") - before;
        double all = (double)(turn.bytes * repeats(&turn));
        rate.ours = all / quantile(turns.seconds[OURS], turns.count, 0.5) / 1e9;
        rate.theirs = all / quantile(turns.seconds[REFERENCE], turns.count, 0.5) / 1e9;
        rate.by_gpu = (double)gpu > 0.5 * all * (double)turns.count;
    }
    EVP_CIPHER_CTX_free(turn.contexts[OURS]);
    EVP_CIPHER_CTX_free(turn.contexts[REFERENCE]);
    if (turn.failed)
        memset(&rate, 0, sizeof rate);
    return rate;
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

/* "times" is the ratio of gpuaes to default, "by" the processor that did most of it. */
static void print_head(void)
{
    (void)printf("%-33s  %19s  %19s\n%-14s %8s %9s  %8s %6s %-3s  %8s %6s %-3s\n", "AES-256, GB/s",
                 "in pageable memory", "in pinned memory", "work", "update", "default", "gpuaes",
                 "times", "by", "gpuaes", "times", "by");
}

static void print_text(const struct rate measured[MEMORIES])
{
    (void)printf(" %9.2f", measured[PAGEABLE].theirs > 0 ? measured[PAGEABLE].theirs
                                                         : measured[PINNED].theirs);
    for (const struct rate *rate = measured; rate < measured + MEMORIES; rate++)
        if (rate->ours > 0)
            (void)printf("  %8.2f %5.1fx %s", rate->ours, rate->ours / rate->theirs,
                         rate->by_gpu ? "GPU" : "CPU");
        else
            (void)printf("  %8s %6s %-3s", "-", "", "");
    (void)printf("\n");
    (void)fflush(stdout);
}

int rates_print(const struct library *library, int short_alone, double seconds)
{
    struct rates rates = {.library = library};
    struct rate measured[MEMORIES];
    const int count = short_alone ? SHORT_SIZES : SIZES;
    if (!open_buffers(&rates, sizes[count - 1]))
        return 0;
    int cells = count * ROWS * (rates.memory[PINNED] != NULL ? MEMORIES : 1);
    print_head();
    for (const struct row *row = rows; row < rows + ROWS; row++)
        for (int i = 0; i < count && sizes[i] <= row->most; i++) {
            for (int memory = PAGEABLE; memory < MEMORIES; memory++)
                measured[memory] = measure(&rates, row, memory, sizes[i], seconds / cells);
            print_size(row->name, sizes[i]);
            print_text(measured);
        }
    close_buffers(&rates);
    return 1;
}
