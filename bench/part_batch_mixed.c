/*
 * Batches of a mixed payload, in the seven orders of published work: how much it
 * matters in which order the caller adds messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

enum { LONGER = 960, SHORTER = 992, SERIAL = 1024, MIXED = LONGER + SHORTER + SERIAL };
/* Those of the published work; what follows each other there shares a warp. */
static const char *const orders[] = {"each serial message before a parallel one",
                                     "serial messages spread evenly",
                                     "serial messages first",
                                     "random",
                                     "random, in groups of 32",
                                     "groups of 32 spread evenly",
                                     "the same, sorted by size"};
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

/* Groups of `group` messages change places at random. */
static void shuffle(unsigned *message, unsigned count, unsigned group)
{
    uint64_t state = 88172645463325252u;
    for (unsigned i = count / group - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)(state >> 33) % (i + 1);
        for (unsigned k = 0; k < group; k++) {
            unsigned swapped = message[i * group + k];
            message[i * group + k] = message[j * group + k];
            message[j * group + k] = swapped;
        }
    }
}

/* Serial messages in groups, with as many parallel ones between each two. */
static void spread(unsigned *message, const unsigned *serial, unsigned group)
{
    unsigned placed = 0, parallel = 0;
    for (unsigned i = 0; i < MIXED;) {
        int is_due = placed < SERIAL && (uint64_t)i * SERIAL >= (uint64_t)placed * MIXED;
        if (!is_due && parallel < LONGER + SHORTER) {
            message[i++] = parallel++;
            continue;
        }
        for (unsigned k = 0; k < group; k++)
            message[i++] = serial[placed++];
    }
}

static void put_in_order(unsigned *message, int order)
{
    unsigned serial[SERIAL];
    for (unsigned i = 0; i < SERIAL; i++) /* the longest first */
        serial[i] = MIXED - 1 - i;
    if (order < 2 || order == 4 || order == 5)
        shuffle(serial, SERIAL, 1);
    for (unsigned i = 0; i < MIXED; i++)
        message[i] = i < SERIAL ? serial[i] : i - SERIAL;
    if (order == 0) {
        for (unsigned i = 0; i < 2 * SERIAL; i++)
            message[i] = i % 2 == 0 ? serial[i / 2] : i / 2;
    } else if (order == 1) {
        spread(message, serial, 1);
    } else if (order >= 5) {
        spread(message, serial, 32);
    } else if (order != 2) {
        shuffle(message, MIXED, order == 3 ? 1 : 32);
    }
}

static void check(enum gpuaes_status status)
{
    call_check(status, "a batch");
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
        struct gpuaes_message m = {.op = is_serial(number) ? GPUAES_CBC_ENCRYPT : GPUAES_CTR,
                                   key,
                                   32,
                                   NULL,
                                   iv,
                                   p->memory + at,
                                   p->memory + at,
                                   blocks_of(number) * GPUAES_BLOCK};
        check(gpuaes_batch_add(p->batch, &m));
        at += m.len;
    }
    check(gpuaes_batch_submit(p->batch, GPUAES_WAIT));
    check(gpuaes_batch_wait(p->batch));
}

/* Left out of a quick run: seven orders of 17 MB take the emulator too long. */
int part_batch_mixed(void)
{
    struct payload p;
    struct result result[ORDERS];
    double best = 0;
    size_t bytes = 0;
    for (unsigned i = 0; i < MIXED; i++)
        bytes += blocks_of(i) * GPUAES_BLOCK;
    if (options.quick || !device_begin("batch-mixed"))
        return 0;
    struct buffer memory = buffer_take(DEVICE, bytes);
    if (memory.p == NULL) {
        print_skipped("batch-mixed", "there is no device memory");
        return 0;
    }
    p.memory = memory.p;
    check(gpuaes_batch_open(&p.batch));
    for (int order = 0; order < ORDERS; order++) {
        put_in_order(p.message, order);
        result[order] = measure_alone(51, payload_turn, &p);
        if (order == 0 || result[order].median[OURS] < best)
            best = result[order].median[OURS];
    }
    gpuaes_batch_close(p.batch);
    buffer_give(&memory);
    for (int order = 0; order < ORDERS; order++) {
        struct row row = {.part = "batch-mixed",
                          .operation = orders[order],
                          .bytes = bytes,
                          .memory = "device",
                          .placement = "in place",
                          .processor = "gpu",
                          .against = "the best order"};
        result[order].median[REFERENCE] = best;
        print_times(&row, &result[order], 1, "us", 1e6);
    }
    return 0;
}
