/*
 * Batches: rate over the number of messages and over their size, for CBC encryption
 * (serial) and CTR (parallel), with one key and with one for each message, in device
 * memory and through the bus; and of several threads; of GCM compared with CTR. The shapes are
 * those of the payload in published work.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"
#include "bench/team.h"

enum { FLIGHT_MOST = 4, THREADS_MOST = 4, PAGE = 16 << 10, COUNT_MOST = 65536 };

static const unsigned char one_key[32] = "the key of all measurements ...";
static unsigned char ivs[COUNT_MOST * GPUAES_BLOCK]; /* of all batches */

/* Of GCM: additional data of all batches, and the tags of each batch under way. */
enum { AAD = 32, TAG = 16, IV = 12 };
static unsigned char aad[COUNT_MOST * AAD], tags[FLIGHT_MOST][COUNT_MOST * TAG];
static const struct mode_row gcm_encrypt = {{NULL, NULL, "AES-256-GCM"}, 1, GPUAES_GCM_ENCRYPT},
                             gcm_decrypt = {{NULL, NULL, "AES-256-GCM"}, 0, GPUAES_GCM_DECRYPT};

/* What all batches of one row have. */
struct load {
    const struct mode_row *mode;
    size_t count, length; /* messages, bytes of each */
    int keys;             /* one for each message, and new ones each time */
    unsigned flight;      /* batches under way at once */
    unsigned char *in, *out;
    const char *memory;
    double rate; /* of what it is compared with */
    const char *against;
    struct gpuaes_batch *batch[FLIGHT_MOST];
    unsigned next; /* batch */
    uint64_t key;  /* the last */
};

static void check(enum gpuaes_status status)
{
    call_check(status, "a batch");
}

static int is_gcm(const struct load *l)
{
    return l->mode == &gcm_encrypt || l->mode == &gcm_decrypt;
}

static void add(struct load *l, unsigned number)
{
    unsigned char key[32];
    size_t at = number * l->count * l->length;
    struct gpuaes_message m = {
        .op = l->mode->op, one_key, 32, NULL, NULL, l->in + at, l->out + at, l->length};
    if (is_gcm(l)) {
        m.iv_bytes = IV;
        m.aad_bytes = AAD;
        m.tag_bytes = TAG;
    }
    memcpy(key, one_key, sizeof key);
    m.key = key;
    for (size_t i = 0; i < l->count; i++) {
        l->key++;
        if (l->keys)
            memcpy(key, &l->key, sizeof l->key);
        m.iv = ivs + i * (is_gcm(l) ? IV : GPUAES_BLOCK);
        m.aad = aad + i * AAD;
        m.tag = tags[number] + i * TAG;
        check(gpuaes_batch_add(l->batch[number], &m));
        m.in = (const unsigned char *)m.in + l->length;
        m.out = (unsigned char *)m.out + l->length;
    }
}

/* The oldest one ends, and begins anew. */
static void turn(struct load *l)
{
    unsigned number = l->next++ % l->flight;
    gpuaes_batch_reset(l->batch[number]);
    add(l, number);
    check(gpuaes_batch_submit(l->batch[number], GPUAES_WAIT));
}

static void begin(struct load *l)
{
    l->next = 0;
    for (unsigned i = 0; i < l->flight; i++)
        check(gpuaes_batch_open(&l->batch[i]));
    for (unsigned i = 0; i < 2 * l->flight; i++)
        turn(l);
}

static void end(struct load *l)
{
    for (unsigned i = 0; i < l->flight; i++) {
        check(gpuaes_batch_wait(l->batch[i])); /* with a wrong tag it would not be OK */
        gpuaes_batch_close(l->batch[i]);
    }
}

static void print_load(const struct load *l, unsigned threads, double rate)
{
    char operation[80];
    (void)snprintf(operation, sizeof operation, "%s, %zu messages%s, %u under way",
                   direction(l->mode->encrypt), l->count, l->keys ? " with a key each" : "",
                   l->flight);
    struct row row = row_of(is_gcm(l) ? "batch-gcm" : "batch", mode_cipher(l->mode, 256), operation,
                            l->memory, l->length);
    row.statistic = "sustained";
    row.threads = threads;
    row.value[OURS] = rate;
    row.value[REFERENCE] = l->rate;
    row.unit = "GB/s";
    row.processor = "gpu";
    row.against = l->against;
    print_row(&row);
}

/* The loads of the threads, each with memory and batches of its own, and their rates. */
struct hands {
    struct load load[THREADS_MOST];
    double rate[THREADS_MOST];
};

static void hand_begin(unsigned number, void *argument)
{
    begin(&((struct hands *)argument)->load[number]);
}

static void hand_run(unsigned number, void *argument)
{
    struct hands *h = argument;
    struct load *l = &h->load[number];
    double turns = 0, began = now(), until = began + (options.quick ? 0.001 : options.seconds);
    for (; turns == 0 || now() < until; turns++)
        turn(l);
    /* As many batches are under way as when it began. */
    h->rate[number] = turns * (double)(l->count * l->length) / (now() - began) / 1e9;
    end(l);
}

/* Measures the rate of so many threads together. */
static double load_rate(const struct load *l, unsigned threads)
{
    static struct hands hands;
    static struct team team;
    size_t bytes = l->flight * l->count * l->length;
    double rate = 0;
    for (unsigned i = 0; i < threads; i++) {
        hands.load[i] = *l;
        hands.load[i].in += i * bytes;
        hands.load[i].out += i * bytes;
        hands.load[i].key = (uint64_t)i << 48;
    }
    team_open(&team, threads);
    team_run(&team, hand_begin, &hands);
    team_run(&team, hand_run, &hands);
    team_close(&team);
    for (unsigned i = 0; i < threads; i++)
        rate += hands.rate[i];
    return rate;
}

static double load_row(const struct load *l, unsigned threads)
{
    double rate = load_rate(l, threads);
    print_load(l, threads, rate);
    return rate;
}

/*
 * What one thread is too slow for: many messages, short ones, keys. Those with a key each
 * are compared with the same with one.
 */
static void threads_rows(const struct memory *m)
{
    static const struct {
        enum mode_number mode;
        size_t length;
    } cases[] = {{MODE_CTR, PAGE},
                 {MODE_CTR, 8 << 10},
                 {MODE_CTR, 256},
                 {MODE_CBC_ENCRYPT, PAGE},
                 {MODE_CBC_ENCRYPT, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned threads = 1; threads <= THREADS_MOST; threads *= 2) {
            struct load l = {.mode = &mode_rows[cases[i].mode],
                             .count = options.quick ? 4 : 16384,
                             .length = cases[i].length,
                             .flight = 2,
                             .in = m->in.p,
                             .out = m->out.p,
                             .memory = "device"};
            l.rate = load_row(&l, threads);
            l.against = "one key";
            l.keys = 1;
            (void)load_row(&l, threads);
        }
}

/* ---- Curves ----------------------------------------------------------------------- */

/* CBC encryption of such messages by the default provider on the calling thread, GB/s. */
static double core_rate(void)
{
    static unsigned char page[PAGE];
    struct pair p = {.length = PAGE, .calls = options.quick ? 1 : 2000};
    pair_open(&p, mode_cipher(&mode_rows[MODE_CBC_ENCRYPT], 256), 1);
    pair_memory(&p, page, page);
    double began = now();
    pair_updates(REFERENCE, &p);
    double seconds = now() - began;
    pair_close(&p);
    return (double)(p.calls * PAGE) / seconds / 1e9;
}

/* With as many batches under way as there is memory for, if that is more than one. */
static void curve_row(struct load *l, size_t memory, size_t count, size_t length)
{
    l->count = count;
    l->length = length;
    l->flight = min_unsigned(memory / (count * length), FLIGHT_MOST);
    if (l->flight > 1)
        (void)load_row(l, 1);
}

/* Over the number of messages, and over their size. */
static void curves(struct load l, size_t memory)
{
    static const size_t counts[] = {1, 32, 256, 1024, 4096, 16384, COUNT_MOST};
    static const size_t lengths[] = {16, 256, 1 << 10, 8 << 10, 256 << 10};
    size_t most = options.quick ? 1 : COUNT_MOST, longest = options.quick ? 256 : 256 << 10;
    for (l.keys = 0; l.keys < 2; l.keys++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0] && counts[i] <= most; i++)
            curve_row(&l, memory, counts[i], PAGE);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && lengths[i] <= longest; i++)
            curve_row(&l, memory, options.quick ? 16 : 4096, lengths[i]);
    }
}

/* Of CBC encryption, compared with one core, and of CTR. */
static void mode_curves(const struct memory *m, size_t bytes, double core)
{
    char against[80];
    struct load l = {.mode = &mode_rows[MODE_CBC_ENCRYPT],
                     .in = m->in.p,
                     .out = m->out.p,
                     .memory = kind_name(m->in.kind),
                     .rate = core,
                     .against = against};
    (void)snprintf(against, sizeof against, "one core, %s", of_openssl("default provider"));
    curves(l, bytes);
    l.mode = &mode_rows[MODE_CTR];
    l.rate = 0;
    l.against = NULL;
    curves(l, bytes);
}

/* ---- Parts ----------------------------------------------------------------------------- */

static void make_ivs(void)
{
    for (size_t i = 0; i < sizeof ivs; i++)
        ivs[i] = (unsigned char)(i * 131 + (i >> 9));
}

int part_batch(void)
{
    struct memory device, pinned;
    if (!device_memory_take(&device, "batch", options.quick ? 128 * MIB : 4 * GIB))
        return 0;
    make_ivs();
    double core = core_rate();
    mode_curves(&device, options.quick ? 4 * MIB : device.in.bytes, core);
    threads_rows(&device);
    memory_give(&device);
    size_t bytes = (size_t)FLIGHT_MOST * (options.quick ? 4 : 4096) * PAGE;
    if (!memory_take(&pinned, "batch", PINNED, bytes, bytes))
        return 0;
    mode_curves(&pinned, bytes, core);
    memory_give(&pinned);
    return 0;
}

/* The best rate of the same bytes as one call. */
static double bare_rate(const struct load *l)
{
    struct call call = call_make(l->mode->op, 256, l->in, l->out, l->count * l->length);
    double best = 0;
    for (int i = 0; i < 5; i++) {
        double began = now();
        call_run(OURS, &call);
        best = max_double(best, (double)call.length / (now() - began) / 1e9);
    }
    return best;
}

/*
 * Messages of 16384, 512 and 16 blocks compared with one call over the same bytes. With
 * GPUAES_KERNEL=small in the environment, that call has no counter caching.
 */
int part_batch_overhead(void)
{
    static const size_t blocks[] = {16384, 512, 16};
    struct memory m;
    if (!device_memory_take(&m, "batch-overhead", options.quick ? 64 * KIB : 4 * GIB))
        return 0;
    make_ivs();
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct load l = {.mode = &mode_rows[MODE_CTR],
                         .length = options.quick ? 16 * (i + 1) : blocks[i] * GPUAES_BLOCK,
                         .flight = 2,
                         .in = m.in.p,
                         .out = m.out.p,
                         .memory = "device",
                         .against = "one call over the same bytes"};
        l.count =
            options.quick ? 4 : min_u64(m.in.bytes / THREADS_MOST / l.flight / l.length, 16384);
        l.rate = bare_rate(&l);
        (void)load_row(&l, THREADS_MOST);
    }
    memory_give(&m);
    return 0;
}

/*
 * Messages of 16 KiB, each with a tag and additional data of its own, compared with CTR. What is
 * decrypted is what encryption made, with its tags, so that the order counts.
 */
static void gcm_pair(struct load l, size_t memory, size_t count)
{
    l.count = count;
    l.length = PAGE;
    l.flight = min_unsigned(memory / (count * PAGE), FLIGHT_MOST);
    l.mode = &mode_rows[MODE_CTR];
    l.rate = load_rate(&l, 1);
    l.mode = &gcm_encrypt;
    (void)load_row(&l, 1);
    l.mode = &gcm_decrypt;
    unsigned char *plaintext = l.in;
    l.in = l.out;
    l.out = plaintext;
    (void)load_row(&l, 1);
}

int part_batch_gcm(void)
{
    static const size_t counts[] = {256, 1024, 4096, 16384, COUNT_MOST};
    struct memory m;
    if (!device_memory_take(&m, "batch-gcm", options.quick ? MIB : 4 * GIB))
        return 0;
    make_ivs();
    struct load l = {.in = m.in.p, .out = m.out.p, .memory = "device", .against = "CTR"};
    if (options.quick)
        gcm_pair(l, m.in.bytes, 4);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && !options.quick; i++)
        gcm_pair(l, m.in.bytes, counts[i]);
    memory_give(&m);
    return 0;
}
