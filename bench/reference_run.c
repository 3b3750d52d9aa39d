/*
 * Running the kernels of published work, and AES-CTR with them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/reference_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "bench/sides.h"

enum { THREADS = 256 };

const unsigned char reference_key[REFERENCE_KEY] = "the key of all published work..";

/* The low half soon overflows. */
static const unsigned char counter[GPUAES_BLOCK] = {1,    2,    3,    4,    5,    6,    7,    8,
                                                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0};

int reference_open(struct reference *r, const char *part)
{
    if (gpuaes_state() != GPUAES_READY || !card_begin(0)) {
        print_skipped(part, "%s", no_device());
        return 0;
    }
    if (!card_module(&r->module)) {
        print_skipped(part, "there are no kernels for this device in this program");
        return 0;
    }
    r->stream = card_stream();
    r->multiprocessors = (unsigned)card_attribute(DRV_ATTR_MULTIPROCESSOR_COUNT, 0);
    r->most_threads = (unsigned)card_attribute(DRV_ATTR_MAX_THREADS_PER_BLOCK, 0);
    r->threads = (unsigned)card_attribute(DRV_ATTR_MAX_THREADS_PER_MULTIPROCESSOR, 0);
    r->shared = (unsigned)card_attribute(DRV_ATTR_MAX_SHARED_PER_MULTIPROCESSOR, 0);
    r->reserved = (unsigned)card_attribute(DRV_ATTR_RESERVED_SHARED_PER_BLOCK, 0);
    return 1;
}

void reference_close(struct reference *r)
{
    card_check(card()->stream_destroy(r->stream), "cuStreamDestroy");
    card_check(card()->module_unload(r->module), "cuModuleUnload");
}

drv_function reference_function(const struct reference *r, const char *name)
{
    drv_function function = NULL;
    card_check(card()->module_get_function(&function, r->module, name), name);
    return function;
}

/* ---- CTR -------------------------------------------------------------------------- */

static uint64_t big_endian(const unsigned char *p)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | p[i];
    return value;
}

void reference_ctr_open(const struct reference *r, struct reference_ctr *ctr, const char *name,
                        unsigned bits, unsigned shared, const void *in, const void *out)
{
    char kernel[80];
    struct gpuaes_key key;
    (void)gpuaes_key_expand(&key, reference_key, bits / 8);
    (void)snprintf(kernel, sizeof kernel, "reference_ctr_%s_%u", name, key.rounds);
    *ctr = (struct reference_ctr){
        .launch = {.function = reference_function(r, kernel),
                   .threads = min_unsigned(r->most_threads, THREADS),
                   .shared = shared},
        .arguments = {.in = card_address(in),
                      .out = card_address(out),
                      .counter = {big_endian(counter), big_endian(counter + 8)}}};
    memcpy(ctr->arguments.round_key, key.encrypt, sizeof key.encrypt);
}

/* Blocks of threads that the device holds at once. */
static unsigned resident(const struct reference *r, const struct launch *l)
{
    unsigned by_threads = r->threads / l->threads;
    unsigned by_shared = l->shared != 0 ? r->shared / (l->shared + r->reserved) : by_threads;
    return r->multiprocessors * min_unsigned(by_shared, by_threads);
}

void reference_ctr_run(const struct reference *r, struct reference_ctr *ctr,
                       enum reference_shape shape, size_t length)
{
    struct launch *l = &ctr->launch;
    l->arguments = &ctr->arguments;
    ctr->arguments.blocks = length / GPUAES_BLOCK;
    l->grid = (unsigned)((ctr->arguments.blocks + l->threads - 1) / l->threads);
    if (shape == RESIDENT)
        l->grid = min_unsigned(l->grid, resident(r, l));
    card_launch(l, r->stream);
}

void reference_compare(const char *kernel, const void *result, const void *expected, size_t length)
{
    if (memcmp(result, expected, length) == 0)
        return;
    (void)fprintf(stderr, "gpuaes_bench: the kernel %s makes wrong results\n", kernel);
    exit(EXIT_FAILURE);
}

void reference_ctr_expect(unsigned bits, unsigned char *expected, const unsigned char *in,
                          size_t length)
{
    struct pair pair = {.length = length, .calls = 1};
    pair_open(&pair, mode_cipher(&mode_rows[MODE_CTR], bits), 1);
    if (!EVP_CipherInit_ex2(pair.context[REFERENCE], NULL, reference_key, counter, 1, NULL)) {
        ERR_print_errors_fp(stderr);
        exit(EXIT_FAILURE);
    }
    pair.in[REFERENCE] = (unsigned char *)in;
    pair.out[REFERENCE] = expected;
    pair_updates(REFERENCE, &pair);
    pair_close(&pair);
}
