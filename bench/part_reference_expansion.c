/*
 * Key expansion: on the CPU, on the device with a thread for each of many keys, and by
 * the first thread of each block of a kernel, as published work did it, with what that
 * costs a message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_size.h"
#include "base/minmax.h"
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/reference_run.h"
#include "bench/sides.h"
#include "cuda/kernels/common/arguments.h"

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

/* Seconds that ours takes for a key. */
static double cpu_row(unsigned bits)
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
    return result.median[OURS] / CPU_KEYS;
}

/* ---- On the device, a thread a key ----------------------------------------------------- */

struct on_device {
    struct reference card;
    struct launch launch;
    struct aes_batch_expand_arguments arguments;
    struct memory host, device; /* the keys in, their schedules out */
    unsigned key_bytes;
};

static void expand_on_device(int side, void *argument)
{
    const struct on_device *d = argument;
    (void)side;
    card_launch(&d->launch, d->card.stream);
    card_wait(d->card.stream);
}

static struct aes_batch_key *keys_of(const struct on_device *d)
{
    return (struct aes_batch_key *)(void *)d->host.in.p;
}

static void make_keys(struct on_device *d, uint32_t count)
{
    struct aes_batch_key *keys = keys_of(d);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = (struct aes_batch_key){.rounds = key_size_rounds(d->key_bytes)};
        memcpy(keys[i].words, reference_key, d->key_bytes);
        keys[i].words[0] += i;
    }
    card_up(d->device.in.p, keys, count * sizeof *keys, d->card.stream);
    card_wait(d->card.stream);
}

/* The grid is that of the library. */
static void set_count(struct on_device *d, uint32_t count)
{
    unsigned grid = (count + d->launch.threads - 1) / d->launch.threads;
    d->arguments.count = count;
    d->launch.grid = min_unsigned(grid, d->card.multiprocessors * 8);
}

static void check_schedule(const struct on_device *d, uint32_t i)
{
    struct gpuaes_key right;
    (void)gpuaes_key_expand(&right, (const unsigned char *)keys_of(d)[i].words, d->key_bytes);
    reference_compare("aes_batch_expand", d->host.out.p + (size_t)i * AES_BATCH_KEY_WORDS * 4,
                      right.encrypt, 16 * ((size_t)right.rounds + 1));
}

/* The last, and as many before as the CPU does in some milliseconds. */
static void check_schedules(const struct on_device *d, uint32_t count)
{
    size_t bytes = (size_t)count * AES_BATCH_KEY_WORDS * 4;
    card_zero(d->device.out.p, bytes, d->card.stream);
    card_launch(&d->launch, d->card.stream);
    card_down(d->host.out.p, d->device.out.p, bytes, d->card.stream);
    card_wait(d->card.stream);
    for (uint32_t i = 0; i < count; i += count / 4096 + 1)
        check_schedule(d, i);
    check_schedule(d, count - 1);
}

static void device_rows(struct on_device *d, uint32_t most, const double *on_cpu)
{
    char cipher[32], operation[64];
    struct row row = {.part = "expansion",
                      .cipher = cipher,
                      .operation = operation,
                      .statistic = "median",
                      .memory = "device",
                      .unit = "ns",
                      .processor = "gpu",
                      .against = "one core"};
    for (unsigned size = 0; size < 3; size++) {
        d->key_bytes = 16 + 8 * size;
        make_keys(d, most);
        for (uint32_t count = 1; count <= most; count *= 32) {
            set_count(d, count);
            check_schedules(d, count);
            struct result result = measure_alone(51, expand_on_device, d);
            (void)snprintf(cipher, sizeof cipher, "AES-%u", d->key_bytes * 8);
            (void)snprintf(operation, sizeof operation, "on the device, %u keys", count);
            row.bytes = d->key_bytes;
            row.value[OURS] = result.median[OURS] / count * 1e9;
            row.value[REFERENCE] = on_cpu[size] * 1e9;
            row.spread = result.spread;
            print_row(&row);
        }
    }
}

static void device_part(const struct reference *card_of, const double *on_cpu)
{
    uint32_t most = options.quick ? 32 : 1 << 20;
    size_t keys = most * sizeof(struct aes_batch_key),
           schedules = (size_t)most * AES_BATCH_KEY_WORDS * 4;
    struct on_device d = {.card = *card_of,
                          .launch = {.function = reference_function(card_of, "aes_batch_expand"),
                                     .threads = min_unsigned(card_of->most_threads, 256),
                                     .shared = AES_SMALL_SHARED}};
    if (!memory_take(&d.host, "expansion", PINNED, keys, schedules))
        return;
    if (memory_take(&d.device, "expansion", DEVICE, keys, schedules)) {
        d.arguments.keys = card_address(d.device.in.p);
        d.arguments.schedules = card_address(d.device.out.p);
        d.launch.arguments = &d.arguments;
        device_rows(&d, most, on_cpu);
        memory_give(&d.device);
    }
    memory_give(&d.host);
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
    double on_cpu[3];
    struct reference reference;
    warm_up();
    for (unsigned size = 0; size < 3; size++)
        on_cpu[size] = cpu_row(128 + 64 * size);
    if (!reference_open(&reference, "expansion"))
        return 0;
    device_part(&reference, on_cpu);
    message_part(&reference);
    reference_close(&reference);
    return 0;
}
