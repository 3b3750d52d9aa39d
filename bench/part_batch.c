/*
 * Batches: rate over the number of messages and over their size, for CBC encryption
 * (serial) and CTR (parallel), with one key and with one for each message, in device
 * memory and through the bus; and of several threads. The shapes are those of the
 * payload in published work, see Aims.pm.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/api.h"
#include "bench/batches.h"
#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

enum { FLIGHT_MOST = 6, PAGE = 16 << 10 };

/* What all batches of one row have. */
struct load {
    enum gpuaes_op op;
    size_t count, length; /* messages, bytes of each */
    int keys;             /* one for each message, and new ones each time */
    unsigned flight;      /* batches under way at once */
    unsigned char *in, *out;
    struct gpuaes_batch *batch[FLIGHT_MOST];
    unsigned next; /* batch */
    uint64_t key;  /* the last */
    unsigned char *ivs;
};

void batch_check(enum gpuaes_status status)
{
    if (status != GPUAES_OK) {
        (void)fprintf(stderr, "gpuaes_bench: a batch: %s (%s)\n", gpuaes_status_text(status),
                      gpuaes_reason());
        exit(EXIT_FAILURE);
    }
}

static void add(struct load *l, unsigned number)
{
    static const unsigned char one[32] = "the key of all measurements ...";
    unsigned char key[32];
    size_t at = number * l->count * l->length;
    struct gpuaes_message m = {l->op, one, 32, NULL, NULL, l->in + at, l->out + at, l->length};
    if (!l->keys) {
        batch_check(gpuaes_batch_gather(l->batch[number], &m, l->count, NULL, NULL, l->ivs, NULL));
        return;
    }
    memcpy(key, one, sizeof key);
    m.key = key;
    for (size_t i = 0; i < l->count; i++) {
        l->key++;
        memcpy(key, &l->key, sizeof l->key);
        m.iv = l->ivs + 16 * i;
        batch_check(gpuaes_batch_add(l->batch[number], &m));
        m.in = (const unsigned char *)m.in + l->length;
        m.out = (unsigned char *)m.out + l->length;
    }
}

/* The oldest one ends, and begins anew; one by itself is also waited for. */
static void turn(int side, void *argument)
{
    struct load *l = argument;
    unsigned number = l->next++ % l->flight;
    (void)side;
    gpuaes_batch_reset(l->batch[number]);
    add(l, number);
    batch_check(gpuaes_batch_submit(l->batch[number], GPUAES_WAIT));
    if (l->flight == 1)
        batch_check(gpuaes_batch_wait(l->batch[number]));
}

static void begin(struct load *l)
{
    l->ivs = malloc(l->count * 16);
    if (l->ivs == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < l->count * 16; i++)
        l->ivs[i] = (unsigned char)(i * 131 + (i >> 9));
    l->next = 0;
    for (unsigned i = 0; i < l->flight; i++)
        batch_check(gpuaes_batch_open(&l->batch[i]));
    for (unsigned i = 0; i < 2 * l->flight; i++)
        turn(OURS, l);
}

static void end(struct load *l)
{
    for (unsigned i = 0; i < l->flight; i++) {
        gpuaes_batch_reset(l->batch[i]);
        gpuaes_batch_close(l->batch[i]);
    }
    free(l->ivs);
}

/* The same bytes as one call. */
static double bare_rate(const struct load *l)
{
    struct call call = call_make(l->op, 256);
    call.in = l->in;
    call.out = l->out;
    call.length = l->count * l->length;
    double best = 0;
    for (int i = 0; i < 5; i++) {
        double began = now();
        call_run(&call);
        double rate = (double)call.length / (now() - began) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

static double row_seconds(void)
{
    return options.quick ? 0.001 : options.seconds;
}

/* What stands beside a row. */
struct beside {
    double rate;
    const char *what;
};

static void print_load(const struct load *l, const char *memory, unsigned threads, double rate,
                       const struct beside *beside)
{
    char operation[80];
    (void)snprintf(operation, sizeof operation, "encrypt, %zu messages%s, %u under way", l->count,
                   l->keys ? " with a key each" : "", l->flight);
    struct row row = {.part = "batch",
                      .cipher = l->op == GPUAES_CTR ? "AES-256-CTR" : "AES-256-CBC",
                      .operation = operation,
                      .statistic = "sustained",
                      .bytes = l->length,
                      .memory = memory,
                      .placement = "out of place",
                      .threads = threads,
                      .unit = "GB/s",
                      .processor = "gpu",
                      .against = beside->what};
    row.value[OURS] = rate;
    row.value[REFERENCE] = beside->rate;
    print_row(&row);
}

static void load_row(struct load *l, const char *memory, const struct beside *beside)
{
    double bytes = (double)(l->count * l->length);
    begin(l);
    double each = measure_sustained(row_seconds(), turn, l);
    end(l);
    print_load(l, memory, 1, bytes / each / 1e9, beside);
}

/* ---- Several threads -------------------------------------------------------------- */

enum { THREADS_MOST = 4 };

struct hand {
    pthread_t thread;
    pthread_barrier_t *barrier;
    struct load load;
    double rate;
};

static void *lend(void *argument)
{
    struct hand *h = argument;
    double turns = 0;
    begin(&h->load);
    (void)pthread_barrier_wait(h->barrier);
    double began = now(), until = began + row_seconds();
    for (; turns == 0 || now() < until; turns++)
        turn(OURS, &h->load);
    end(&h->load);
    h->rate = turns * (double)(h->load.count * h->load.length) / (now() - began) / 1e9;
    return NULL;
}

/* As `l`, in so many threads, each with memory and batches of its own. */
static double threads_row(const struct load *l, unsigned threads, const struct beside *beside)
{
    static struct hand hands[THREADS_MOST];
    pthread_barrier_t barrier;
    size_t bytes = l->flight * l->count * l->length;
    double rate = 0;
    (void)pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        hands[i] = (struct hand){.barrier = &barrier, .load = *l};
        hands[i].load.in += i * bytes;
        hands[i].load.out += i * bytes;
        hands[i].load.key = (uint64_t)i << 48;
        if (pthread_create(&hands[i].thread, NULL, lend, &hands[i]) != 0)
            exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(hands[i].thread, NULL);
        rate += hands[i].rate;
    }
    (void)pthread_barrier_destroy(&barrier);
    print_load(l, "device", threads, rate, beside);
    return rate;
}

/*
 * What one thread is too slow for: many messages, short ones, keys. Those with a key each
 * stand beside the same with one.
 */
static void threads_rows(const struct device_memory *m)
{
    static const struct {
        enum gpuaes_op op;
        size_t length;
    } cases[] = {{GPUAES_CTR, PAGE},
                 {GPUAES_CTR, 8 << 10},
                 {GPUAES_CTR, 256},
                 {GPUAES_CBC_ENCRYPT, PAGE},
                 {GPUAES_CBC_ENCRYPT, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned threads = 1; threads <= THREADS_MOST; threads *= 2) {
            struct beside beside = {0, NULL};
            for (int keys = 0; keys < 2; keys++) {
                struct load l = {.op = cases[i].op,
                                 .count = options.quick ? 4 : 16384,
                                 .length = cases[i].length,
                                 .keys = keys,
                                 .flight = 2,
                                 .in = m->in,
                                 .out = m->out};
                double rate = threads_row(&l, threads, &beside);
                beside = (struct beside){rate, "one key"};
            }
        }
}

/* ---- One core -------------------------------------------------------------------- */

/* CBC encryption of such messages by the default provider on the calling thread, GB/s. */
static double core_rate(void)
{
    static unsigned char page[PAGE];
    static const unsigned char key[32] = "the key of all measurements ...", iv[16] = "";
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CIPHER *cipher = fetch_reference(&providers, "AES-256-CBC");
    size_t turns = options.quick ? 1 : 2000;
    int n;
    if (!EVP_CipherInit_ex2(c, cipher, key, iv, 1, NULL))
        exit(EXIT_FAILURE);
    EVP_CIPHER_CTX_set_padding(c, 0);
    double began = now();
    for (size_t i = 0; i < turns; i++)
        (void)EVP_CipherUpdate(c, page, &n, page, sizeof page);
    double rate = (double)(turns * sizeof page) / (now() - began) / 1e9;
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return rate;
}

/* ---- Rows ------------------------------------------------------------------------- */

/* As many batches under way as there is room for. */
static unsigned flight_in(size_t room, const struct load *l, unsigned most)
{
    size_t fit = room / (l->count * l->length);
    return fit < most ? (unsigned)fit : most;
}

/* Over the number of messages, and over their size; alone and with others under way. */
static void curves(struct load *l, size_t room, const char *memory, const struct beside *beside)
{
    static const size_t counts[] = {1, 32, 256, 1024, 4096, 16384, 65536};
    static const size_t lengths[] = {16, 256, 1 << 10, 8 << 10, PAGE, 256 << 10};
    size_t most = options.quick ? 1 : 65536, longest = options.quick ? 256 : 256 << 10;
    for (int keys = 0; keys < 2; keys++)
        for (int several = 0; several < 2; several++) {
            l->keys = keys;
            for (size_t i = 0; i < sizeof counts / sizeof counts[0] && counts[i] <= most; i++) {
                l->count = counts[i];
                l->length = PAGE;
                l->flight = flight_in(room, l, several ? 4 : 1);
                if (l->flight != 0 && (several == 0 || l->flight > 1))
                    load_row(l, memory, beside);
            }
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                l->count = options.quick ? 16 : 4096;
                l->length = lengths[i];
                l->flight = flight_in(room, l, several ? 4 : 1);
                if (lengths[i] <= longest && lengths[i] != PAGE && l->flight != 0 &&
                    (several == 0 || l->flight > 1))
                    load_row(l, memory, beside);
            }
        }
}

static void pinned_rows(const struct beside *core)
{
    struct load l = {.op = GPUAES_CBC_ENCRYPT, .count = options.quick ? 4 : 4096, .length = PAGE};
    const struct beside nothing = {0, NULL};
    size_t bytes = FLIGHT_MOST * l.count * l.length;
    struct buffer in = buffer_take(PINNED, bytes), out = buffer_take(PINNED, bytes);
    l.in = in.p;
    l.out = out.p;
    if (in.p != NULL && out.p != NULL) {
        memset(l.in, 1, bytes);
        memset(l.out, 1, bytes);
        for (l.flight = 1; l.flight <= FLIGHT_MOST; l.flight++)
            load_row(&l, "pinned", core);
        curves(&l, bytes, "pinned", core);
        l.op = GPUAES_CTR;
        curves(&l, bytes, "pinned", &nothing);
    }
    buffer_give(&in);
    buffer_give(&out);
}

/*
 * Messages of 16384, 512 and 16 blocks beside one call over the same bytes. With
 * GPUAES_KERNEL=small in the environment, that call has no counter caching.
 */
int part_batch_overhead(void)
{
    static const size_t blocks[] = {16384, 512, 16};
    struct device_memory m;
    warm_up();
    if (!device_memory_open(&m, options.quick ? 64 * KIB : 4 * GIB, "batch-overhead"))
        return 0;
    struct load l = {.op = GPUAES_CTR, .in = m.in, .out = m.out, .flight = 2};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        l.length = options.quick ? 16 * (i + 1) : blocks[i] * 16;
        l.count = options.quick ? 4 : m.bytes / THREADS_MOST / l.flight / l.length;
        if (l.count > 16384)
            l.count = 16384;
        struct beside bare = {bare_rate(&l), "one call over the same bytes"};
        (void)threads_row(&l, THREADS_MOST, &bare);
    }
    device_memory_close(&m);
    return 0;
}

int part_batch(void)
{
    struct device_memory m;
    warm_up();
    if (!device_memory_open(&m, options.quick ? 128 * MIB : 4 * GIB, "batch"))
        return 0;
    char against[80];
    (void)snprintf(against, sizeof against, "one core, %s", of_openssl("default provider"));
    struct beside core = {core_rate(), against}, nothing = {0, NULL};
    struct load l = {.op = GPUAES_CBC_ENCRYPT, .in = m.in, .out = m.out};
    size_t room = options.quick ? 4 * MIB : m.bytes;
    curves(&l, room, "device", &core);
    l.op = GPUAES_CTR;
    curves(&l, room, "device", &nothing);
    threads_rows(&m);
    if (!options.quick)
        batch_mixed_rows(&m);
    device_memory_close(&m);
    pinned_rows(&core);
    return 0;
}
