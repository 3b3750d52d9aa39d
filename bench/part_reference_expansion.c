/*
 * Key expansion: on the CPU, and by the first thread of each block of a kernel, as published work
 * did it, with what that costs a message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/reference_run.h"
#include "bench/sides.h"

/* ---- On the CPU ---------------------------------------------------------------------- */

enum { CPU_KEYS = 256 };

struct on_cpu {
    unsigned key_bytes;
    EVP_CIPHER_CTX *context;
    unsigned char key[REFERENCE_KEY];
};

static void expand_on_cpu(int side, void *argument)
{
    struct on_cpu *c = argument;
    struct gpuaes_key schedule;
    for (int i = 0; i < CPU_KEYS; i++) {
        c->key[0]++;
        if (!(side == OURS ? gpuaes_key_expand(&schedule, c->key, c->key_bytes)
                           : EVP_EncryptInit_ex(c->context, NULL, NULL, c->key, NULL))) {
            (void)fputs("gpuaes_bench: a key is refused\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
}

static void cpu_row(unsigned bits)
{
    char cipher[32];
    struct on_cpu c = {.key_bytes = bits / 8};
    struct pair pair;
    (void)snprintf(cipher, sizeof cipher, "AES-%u", bits);
    pair_open(&pair, mode_cipher(&mode_rows[MODE_CTR], bits), 1);
    c.context = pair.context[REFERENCE];
    struct row row = {.part = "expansion",
                      .cipher = cipher,
                      .operation = "on the CPU",
                      .bytes = c.key_bytes,
                      .processor = "cpu",
                      .against = of_openssl("EVP_EncryptInit_ex")};
    struct result result = measure(101, expand_on_cpu, &c);
    print_times(&row, &result, CPU_KEYS, "ns", 1e9);
    pair_close(&pair);
}

/* ---- In each block of a message's kernel -------------------------------------------------- */

struct message {
    struct reference card;
    struct reference_ctr ctr[SIDES];
    enum reference_shape shape;
    size_t length;
    unsigned bits;
};

/* One message with a new key, from the key to the end of the work. */
static void encrypt_message(int side, void *argument)
{
    struct message *m = argument;
    struct gpuaes_key key;
    if (side == REFERENCE) {
        (void)gpuaes_key_expand(&key, reference_key, m->bits / 8);
        memcpy(m->ctr[side].arguments.round_key, key.encrypt, sizeof key.encrypt);
    }
    reference_ctr_run(&m->card, &m->ctr[side], m->shape, m->length);
    card_wait(m->card.stream);
}

static void check_message(struct message *m, const struct memory *memory)
{
    unsigned char *in = malloc(m->length), *result = malloc(m->length),
                  *expected = malloc(m->length);
    if (in == NULL || result == NULL || expected == NULL)
        exit(EXIT_FAILURE);
    card_zero(memory->out.p, m->length, m->card.stream);
    encrypt_message(OURS, m);
    card_down(in, memory->in.p, m->length, m->card.stream);
    card_down(result, memory->out.p, m->length, m->card.stream);
    card_wait(m->card.stream);
    reference_ctr_expect(m->bits, expected, in, m->length);
    reference_compare("expand_4", result, expected, m->length);
    free(in);
    free(result);
    free(expected);
}

static void message_rows(struct message *m, const struct memory *memory)
{
    const char *operation = m->shape == RESIDENT ? "message, key expanded in each block, resident"
                                                 : "message, key expanded in each block";
    for (m->length = 4 * KIB; m->length <= memory->in.bytes; m->length *= 16) {
        check_message(m, memory);
        struct row row = row_of("expansion", mode_cipher(&mode_rows[MODE_CTR], m->bits), operation,
                                "device", m->length);
        row.processor = "gpu";
        row.against = "expanded on the CPU";
        struct result result = measure(51, encrypt_message, m);
        print_times(&row, &result, 1, "us", 1e6);
    }
}

static void message_part(const struct reference *card_of)
{
    struct memory memory;
    struct message m = {.card = *card_of};
    static const char *const kernels[SIDES] = {"expand_4", "shared_4"};
    if (!device_memory_take(&memory, "expansion", options.quick ? 64 * KIB : 256 * MIB))
        return;
    for (m.bits = 128; m.bits <= 256; m.bits += 128)
        for (m.shape = A_THREAD_A_BLOCK; m.shape < REFERENCE_SHAPES; m.shape++) {
            for (int side = 0; side < SIDES; side++)
                reference_ctr_open(card_of, &m.ctr[side], kernels[side], m.bits,
                                   4 * REFERENCE_TABLE + (side == OURS ? REFERENCE_SCHEDULE : 0),
                                   memory.in.p, memory.out.p);
            memcpy(m.ctr[OURS].arguments.round_key, reference_key, sizeof reference_key);
            message_rows(&m, &memory);
        }
    memory_give(&memory);
}

int part_reference_expansion(void)
{
    struct reference reference;
    warm_up();
    for (unsigned size = 0; size < 3; size++)
        cpu_row(128 + 64 * size);
    if (!reference_open(&reference, "expansion"))
        return 0;
    message_part(&reference);
    reference_close(&reference);
    return 0;
}
