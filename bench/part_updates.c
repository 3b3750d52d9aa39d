/*
 * Updates through EVP compared with the default provider, by size, mode, memory and placement:
 * small ones, the time of one, large ones, those by several threads, between host and device
 * memory, and of device memory alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

/* What the rows of a part have in common. */
struct updates {
    const char *part, *memory;
    const struct mode_row *mode;
    unsigned bits, threads;
    int device_memory; /* at one end of ours at least */
    struct pair pair;
    struct call call;
    int bare; /* the side that calls libgpuaes instead, or -1 */
};

static struct updates updates_of(const char *part, const char *memory)
{
    return (struct updates){
        .part = part, .memory = memory, .bits = 256, .pair.calls = 1, .bare = -1};
}

static struct row update_row(const struct updates *u)
{
    const struct pair *p = &u->pair;
    struct row row = aes_row(u->part, u->mode, u->bits, u->memory, p->length);
    row.placement = p->in[OURS] == p->out[OURS] ? "in place" : row.placement;
    row.threads = u->threads;
    row.against = of_openssl("default provider");
    return row;
}

static void turn(int side, void *argument)
{
    struct updates *u = argument;
    if (side == u->bare)
        call_run(side, &u->call);
    else
        pair_updates(side, &u->pair);
}

static struct result measure_updates(struct updates *u, struct row *row, size_t most)
{
    pair_open(&u->pair, row->cipher, u->mode->encrypt);
    if (u->device_memory)
        pair_device_memory(&u->pair);
    struct result result =
        measure_evp(row, most, turn, u, (double)u->pair.calls * (double)u->pair.length);
    pair_close(&u->pair);
    return result;
}

/* ---- Small ones ----------------------------------------------------------------- */

/* Messages of an update each, which is what is counted. */
static void short_rows(struct updates *u)
{
    static const size_t lengths[] = {16, KIB};
    u->part = "short";
    u->bits = 256;
    for (u->mode = mode_rows; u->mode < mode_rows + MODE_ROWS; u->mode++)
        for (int is_new = 0; is_new < 2; is_new++)
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                u->pair.length = lengths[i];
                u->pair.calls = options.quick ? 2 : 400000 / (lengths[i] + 2000);
                struct row row = update_row(u);
                row.placement = is_new ? "new context" : "new IV";
                pair_open(&u->pair, row.cipher, u->mode->encrypt);
                struct result result =
                    measure_evp(&row, 401, is_new ? pair_new_contexts : pair_new_ivs, &u->pair,
                                (double)u->pair.calls * (double)u->pair.length);
                pair_close(&u->pair);
                print_times(&row, &result, (double)u->pair.calls, "ns", 1e9);
            }
}

int part_small(void)
{
    static const size_t lengths[] = {16, 64, 256, KIB, 4 * KIB, 16 * KIB};
    struct updates u = updates_of("small", "pageable");
    struct buffer buffer = buffer_take(PAGEABLE, 16 * KIB);
    warm_up();
    pair_memory(&u.pair, buffer.p, buffer.p);
    for (u.mode = mode_rows; u.mode < mode_rows + MODE_ROWS; u.mode++)
        for (u.bits = 128; u.bits <= 256; u.bits += 64)
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                u.pair.length = lengths[i];
                u.pair.calls = options.quick ? 2 : 400000 / (lengths[i] + 400); /* some 100 us */
                struct row row = update_row(&u);
                struct result result = measure_updates(&u, &row, 401);
                print_times(&row, &result, (double)u.pair.calls, "ns", 1e9);
            }
    short_rows(&u);
    buffer_give(&buffer);
    return 0;
}

/* ---- The time of one ------------------------------------------------------------- */

static void latency_rows(struct updates *u)
{
    u->part = u->bare == OURS ? "latency-api" : "latency-evp";
    struct row row = update_row(u);
    struct result result = measure_updates(u, &row, 1001);
    if (u->bare == OURS)
        row.processor = "gpu";
    row.statistic = "median";
    print_times(&row, &result, 1, "us", 1e6);
    row.statistic = "p99";
    print_times(&row, &result, 1, "us", 1e6);
}

/* GPUAES_MIN_BYTES=0 stands in the environment. */
int part_latency(void)
{
    size_t most = options.quick ? 4 * KIB : MIB;
    struct updates u = updates_of(NULL, "pinned");
    struct memory m;
    warm_up();
    if (!memory_take(&m, "latency", PINNED, most, most))
        return 0;
    pair_memory(&u.pair, m.in.p, m.out.p);
    for (u.mode = mode_rows; u.mode < mode_rows + PARALLEL_MODES; u.mode++)
        for (u.pair.length = 16; u.pair.length <= most; u.pair.length *= 4) {
            u.call = call_make(u.mode->op, 256, m.in.p, m.out.p, u.pair.length);
            for (u.bare = OURS; u.bare >= -1; u.bare--)
                latency_rows(&u);
        }
    memory_give(&m);
    return 0;
}

/* ---- Large ones -------------------------------------------------------------------- */

static void rate_row(struct updates *u)
{
    size_t length = u->pair.length;
    struct row row = update_row(u);
    /* The provider learns from updates of several MiB of pageable memory: let it. */
    if (length >= 4 * MIB && !u->device_memory) {
        pair_open(&u->pair, row.cipher, u->mode->encrypt);
        for (int lessons = 3; lessons > 0; lessons--)
            pair_updates(OURS, &u->pair);
        pair_close(&u->pair);
    }
    struct result result = measure_updates(u, &row,
                                           length >= 256 * MIB  ? 7
                                           : length >= 16 * MIB ? 15
                                                                : 51);
    print_rates(&row, &result, (double)length);
}

/* Out of place, and in place as well for sizes that the default provider does in a second. */
static void placement_rows(struct updates *u, const struct memory *m)
{
    pair_memory(&u->pair, m->in.p, m->out.p);
    rate_row(u);
    pair_memory(&u->pair, m->in.p, m->in.p);
    if (u->pair.length <= GIB)
        rate_row(u);
}

static void bulk_rows(struct updates *u, const struct memory *m)
{
    static const size_t most[MODE_ROWS] = {[MODE_CTR] = 4 * GIB,
                                           [MODE_ECB_ENCRYPT] = 4 * GIB,
                                           [MODE_ECB_DECRYPT] = GIB,
                                           [MODE_CBC_DECRYPT] = 4 * GIB,
                                           [MODE_CBC_ENCRYPT] = 16 * MIB};
    for (int mode = 0; mode < MODE_ROWS; mode++) {
        u->mode = &mode_rows[mode];
        if (u->pair.length <= most[mode])
            placement_rows(u, m);
    }
}

/* And the pinned memory that was held at most. */
int part_bulk(void)
{
    warm_up();
    for (int pinned = 0; pinned < 2; pinned++) {
        enum kind kind = pinned ? PINNED : PAGEABLE;
        size_t most = options.quick ? MIB : pinned ? 4 * GIB : GIB;
        struct updates u = updates_of("bulk", kind_name(kind));
        struct memory m;
        if (!memory_take(&m, "bulk", kind, most, most))
            continue;
        for (u.pair.length = 64 * KIB; u.pair.length <= most; u.pair.length *= 4)
            bulk_rows(&u, &m);
        memory_give(&m);
    }
    struct row peak = {.part = "pinned",
                       .operation = "peak",
                       .value = {(double)provider_figure("pinned-peak") / (double)MIB,
                                 256}, /* the default of pinned-bytes */
                       .unit = "MiB",
                       .against = "pinned-bytes"};
    print_row(&peak);
    return 0;
}

/*
 * GPUAES_THREADS stands in the environment. The GPU does it all: what the provider
 * would choose is seen in the part `bulk`.
 */
int part_threads(void)
{
    struct updates u = updates_of("threads", "pageable");
    const char *threads = getenv("GPUAES_THREADS");
    struct memory m;
    u.pair.length = options.quick ? 64 * KIB : 256 * MIB;
    u.threads = threads != NULL ? (unsigned)strtoul(threads, NULL, 10) : 1;
    setenv("GPUAES_POLICY", "gpu", 1);
    if (!device_begin("threads") ||
        !memory_take(&m, "threads", PAGEABLE, u.pair.length, u.pair.length))
        return 0;
    for (u.mode = mode_rows; u.mode < mode_rows + PARALLEL_MODES; u.mode++)
        placement_rows(&u, &m);
    memory_give(&m);
    return 0;
}

/* ---- Device memory --------------------------------------------------------------------- */

/* To the device and from it; the default provider has two buffers of the host. */
static void mixed_rows(struct memory *host, unsigned char *device, size_t length)
{
    char memory[48];
    struct updates u = updates_of("mixed", memory);
    const char *kind = kind_name(host->in.kind);
    u.device_memory = 1;
    u.pair.length = length;
    for (u.mode = mode_rows; u.mode < mode_rows + PARALLEL_MODES; u.mode++) {
        pair_memory(&u.pair, host->in.p, host->out.p);
        u.pair.out[OURS] = device;
        (void)snprintf(memory, sizeof memory, "%s>device", kind);
        rate_row(&u);
        u.pair.in[OURS] = device;
        u.pair.out[OURS] = host->in.p;
        (void)snprintf(memory, sizeof memory, "device>%s", kind);
        rate_row(&u);
    }
}

int part_mixed(void)
{
    size_t most = options.quick ? 256 * KIB : GIB;
    struct memory pinned, pageable;
    if (!device_begin("mixed"))
        return 0;
    struct buffer device = buffer_take(DEVICE, most);
    if (device.p == NULL) {
        print_skipped("mixed", "there is not enough device memory");
        return 0;
    }
    if (memory_take(&pinned, "mixed", PINNED, most, most)) {
        for (size_t length = most; length >= 256 * KIB; length /= 8)
            mixed_rows(&pinned, device.p, length);
        memory_give(&pinned);
    }
    if (memory_take(&pageable, "mixed", PAGEABLE, most / 4, most / 4)) {
        mixed_rows(&pageable, device.p, most / 4);
        memory_give(&pageable);
    }
    buffer_give(&device);
    return 0;
}

/* Compared with bare calls of libgpuaes. */
int part_evp_kernels(void)
{
    struct updates u = updates_of("evp-kernels", "device");
    struct memory m;
    if (!device_memory_take(&m, "evp-kernels", options.quick ? 256 * KIB : GIB))
        return 0;
    u.device_memory = 1;
    u.bare = REFERENCE;
    pair_memory(&u.pair, m.in.p, m.out.p);
    for (size_t length = m.in.bytes; length >= 256 * KIB; length /= 16)
        for (u.mode = mode_rows; u.mode < mode_rows + PARALLEL_MODES; u.mode++) {
            u.call = call_make(u.mode->op, 256, m.in.p, m.out.p, length);
            u.pair.length = length;
            struct row row = update_row(&u);
            row.against = "bare call";
            struct result result = measure_updates(&u, &row, 31);
            print_rates(&row, &result, (double)length);
        }
    memory_give(&m);
    return 0;
}
