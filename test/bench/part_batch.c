/*
 * Batches: rate over the number of messages and over their size, for CBC encryption
 * (serial) and CTR (parallel), with one key and with one for each message, in device
 * memory and through the bus; and a mixed payload in several orders. The shapes are
 * those of the payload in published work (docs/benchmarks.md), whose best figures were
 * 5,810 Mbit/s in parallel modes, and 15,423 and 6,914 Mbit/s for its bare kernel
 * without and with transfers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "buffers.h"
#include "options.h"
#include "parts.h"
#include "rows.h"
#include "sides.h"

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

static void check(enum gpuaes_status status)
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
        check(gpuaes_batch_gather(l->batch[number], &m, l->count, NULL, NULL, l->ivs, NULL));
        return;
    }
    memcpy(key, one, sizeof key);
    m.key = key;
    for (size_t i = 0; i < l->count; i++) {
        l->key++;
        memcpy(key, &l->key, sizeof l->key);
        m.iv = l->ivs + 16 * i;
        check(gpuaes_batch_add(l->batch[number], &m));
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
    check(gpuaes_batch_submit(l->batch[number], GPUAES_WAIT));
    if (l->flight == 1)
        check(gpuaes_batch_wait(l->batch[number]));
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
        check(gpuaes_batch_open(&l->batch[i]));
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

static void load_row(struct load *l, const char *memory, double reference, const char *against)
{
    char operation[80];
    double bytes = (double)(l->count * l->length);
    begin(l);
    double each = measure_sustained(options.quick ? 0.001 : options.seconds, turn, l);
    end(l);
    (void)snprintf(operation, sizeof operation, "encrypt, %zu messages%s, %u under way", l->count,
                   l->keys ? " with a key each" : "", l->flight);
    struct row row = {.part = "batch",
                      .cipher = l->op == GPUAES_CTR ? "AES-256-CTR" : "AES-256-CBC",
                      .operation = operation,
                      .statistic = "sustained",
                      .bytes = l->length,
                      .memory = memory,
                      .placement = "apart",
                      .unit = "GB/s",
                      .engine = "gpu",
                      .against = against};
    row.value[OURS] = bytes / each / 1e9;
    row.value[REFERENCE] = reference;
    print_row(&row);
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
static void curves(struct load *l, size_t room, const char *memory, double core,
                   const char *against)
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
                    load_row(l, memory, core, against);
            }
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                l->count = options.quick ? 16 : 4096;
                l->length = lengths[i];
                l->flight = flight_in(room, l, several ? 4 : 1);
                if (lengths[i] <= longest && lengths[i] != PAGE && l->flight != 0 &&
                    (several == 0 || l->flight > 1))
                    load_row(l, memory, core, against);
            }
        }
}

static void pinned_rows(double core, const char *against)
{
    struct load l = {.op = GPUAES_CBC_ENCRYPT, .count = options.quick ? 4 : 4096, .length = PAGE};
    size_t bytes = FLIGHT_MOST * l.count * l.length;
    struct buffer in = buffer_take(PINNED, bytes), out = buffer_take(PINNED, bytes);
    l.in = in.p;
    l.out = out.p;
    if (in.p != NULL && out.p != NULL) {
        memset(l.in, 1, bytes);
        memset(l.out, 1, bytes);
        for (l.flight = 1; l.flight <= FLIGHT_MOST; l.flight++)
            load_row(&l, "pinned", core, against);
        curves(&l, bytes, "pinned", core, against);
        l.op = GPUAES_CTR;
        curves(&l, bytes, "pinned", 0, NULL);
    }
    buffer_give(&in);
    buffer_give(&out);
}

/* ---- A mixed payload ------------------------------------------------------------------ */

enum { LONGER = 960, SHORTER = 992, SERIAL = 1024, MIXED = LONGER + SHORTER + SERIAL };
static const char *const orders[] = {
    "serial first", "parallel first",          "shortest first",        "longest first",
    "random",       "random, in groups of 32", "spread in groups of 32"};
enum { ORDERS = sizeof orders / sizeof orders[0] };

struct payload {
    struct gpuaes_batch *batch;
    unsigned char *memory;
    unsigned message[MIXED]; /* in the order in which they are added */
};

static int is_serial(unsigned message)
{
    return message >= LONGER + SHORTER;
}

static size_t blocks_of(unsigned message)
{
    if (is_serial(message)) /* eight sizes */
        return (size_t)16 << (message - LONGER - SHORTER) / (SERIAL / 8);
    return message < LONGER ? 512 : 32;
}

static int by_size(const void *a, const void *b)
{
    size_t x = blocks_of(*(const unsigned *)a), y = blocks_of(*(const unsigned *)b);
    return (x > y) - (x < y);
}

/* Groups of `group` messages change places: at random, or by a stride over all. */
static void mix(unsigned *message, unsigned group, int random)
{
    enum { STRIDE = 37 };
    static unsigned from[MIXED];
    unsigned groups = MIXED / group;
    uint64_t state = 88172645463325252u;
    static unsigned place[MIXED];
    for (unsigned i = 0; i < groups; i++)
        place[i] = random ? i : i * STRIDE % groups;
    for (unsigned i = groups - 1; random && i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)(state >> 33) % (i + 1), swapped = place[i];
        place[i] = place[j];
        place[j] = swapped;
    }
    memcpy(from, message, sizeof from);
    for (unsigned i = 0; i < groups * group; i++)
        message[i] = from[place[i / group] * group + i % group];
}

static void put_in_order(struct payload *p, int order)
{
    for (unsigned i = 0; i < MIXED; i++)
        p->message[i] = order == 0 ? (i + LONGER + SHORTER) % MIXED : i;
    if (order == 2 || order == 3)
        qsort(p->message, MIXED, sizeof p->message[0], by_size);
    for (unsigned i = 0; order == 3 && i < MIXED / 2; i++) {
        unsigned swapped = p->message[i];
        p->message[i] = p->message[MIXED - 1 - i];
        p->message[MIXED - 1 - i] = swapped;
    }
    if (order >= 4)
        mix(p->message, order == 4 ? 1 : 32, order != 6);
}

static void payload_turn(int side, void *argument)
{
    static const unsigned char key[32] = "the key of all measurements ...", iv[16] = "";
    struct payload *p = argument;
    size_t at = 0;
    (void)side;
    gpuaes_batch_reset(p->batch);
    for (unsigned i = 0; i < MIXED; i++) {
        unsigned number = p->message[i];
        struct gpuaes_message m = {is_serial(number) ? GPUAES_CBC_ENCRYPT : GPUAES_CTR,
                                   key,
                                   32,
                                   NULL,
                                   iv,
                                   p->memory + at,
                                   p->memory + at,
                                   blocks_of(number) * 16};
        check(gpuaes_batch_add(p->batch, &m));
        at += m.len;
    }
    check(gpuaes_batch_submit(p->batch, GPUAES_WAIT));
    check(gpuaes_batch_wait(p->batch));
}

static void payload_rows(const struct device_memory *memory)
{
    struct payload p = {.memory = memory->in};
    struct result result[ORDERS];
    double best = 0;
    size_t bytes = 0;
    for (unsigned i = 0; i < MIXED; i++)
        bytes += blocks_of(i) * 16;
    if (memory->bytes < bytes)
        return;
    check(gpuaes_batch_open(&p.batch));
    for (int order = 0; order < ORDERS; order++) {
        put_in_order(&p, order);
        result[order] = measure_alone(51, payload_turn, &p);
        if (order == 0 || result[order].median[OURS] < best)
            best = result[order].median[OURS];
    }
    gpuaes_batch_close(p.batch);
    for (int order = 0; order < ORDERS; order++) {
        struct row row = {.part = "batch-mixed",
                          .operation = orders[order],
                          .bytes = bytes,
                          .memory = "device",
                          .placement = "in place",
                          .engine = "gpu",
                          .against = "the best order"};
        result[order].median[REFERENCE] = best;
        print_times(&row, &result[order], 1, "us", 1e6);
    }
}

/*
 * Messages of 16384, 1024 and 512 blocks beside one call over the same bytes. With
 * GPUAES_KERNEL=small in the environment, that call has no counter caching.
 */
int part_batch_overhead(void)
{
    static const size_t blocks[] = {16384, 1024, 512};
    struct device_memory m;
    warm_up();
    if (!device_memory_open(&m, options.quick ? 64 * KIB : 4 * GIB, "batch-overhead"))
        return 0;
    struct load l = {.op = GPUAES_CTR, .in = m.in, .out = m.out, .flight = 3};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        l.length = options.quick ? blocks[i] / 16 : blocks[i] * 16;
        l.count = options.quick ? 4 : m.bytes / 4 / l.length;
        if (l.count > 65536)
            l.count = 65536;
        load_row(&l, "device", bare_rate(&l), "one call over the same bytes");
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
    double core = core_rate();
    struct load l = {.op = GPUAES_CBC_ENCRYPT, .in = m.in, .out = m.out};
    size_t room = options.quick ? 4 * MIB : m.bytes;
    curves(&l, room, "device", core, against);
    l.op = GPUAES_CTR;
    curves(&l, room, "device", 0, NULL);
    if (!options.quick)
        payload_rows(&m);
    device_memory_close(&m);
    pinned_rows(core, against);
    return 0;
}
