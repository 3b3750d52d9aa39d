/*
 * One large update through EVP: 64 KiB to 4 GiB, pinned and pageable, apart and
 * in place; the pinned memory that was held at most. Then, in other processes,
 * the same for several helper threads, and between host and device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/buffers.h"
#include "bench/card.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct bulk {
    const char *part, *memory;
    struct pair pair; /* its memory */
    unsigned threads;
    int device_memory; /* one end of ours is on the device */
};

static size_t turns_for(size_t length)
{
    return length >= 256 * MIB ? 7 : length >= 16 * MIB ? 15 : 51;
}

/* The provider learns from updates of several MiB of pageable memory: let it. */
static void teach(struct pair *p, const char *cipher, int encrypt)
{
    enum { LESSONS = 3 };
    pair_open(p, cipher, encrypt);
    for (int i = 0; i < LESSONS; i++)
        pair_updates(OURS, p);
    pair_close(p);
}

static void bulk_row(const struct bulk *b, const char *cipher, int encrypt, size_t length)
{
    struct pair p = b->pair;
    struct row row = {.part = b->part,
                      .cipher = cipher,
                      .operation = direction(encrypt),
                      .bytes = length,
                      .memory = b->memory,
                      .placement = p.in[OURS] == p.out[OURS] ? "in place" : "out of place",
                      .threads = b->threads,
                      .against = of_openssl("default provider")};
    p.length = length;
    p.calls = 1;
    if (length >= 4 * MIB && !b->device_memory)
        teach(&p, cipher, encrypt);
    struct figures before = figures_get(&providers);
    pair_open(&p, cipher, encrypt);
    if (b->device_memory) {
        int yes = 1;
        OSSL_PARAM params[] = {OSSL_PARAM_int("device-memory", &yes), OSSL_PARAM_END};
        EVP_CIPHER_CTX_set_params(p.context[OURS], params);
    }
    struct result result = measure(turns_for(length), pair_updates, &p);
    pair_close(&p);
    row.processor = processor_since(&before, (double)(result.turns + 1) * (double)length);
    print_rates(&row, &result, (double)length);
}

/* ---- Pinned and pageable -------------------------------------------------- */

static void bulk_ciphers(enum kind kind, unsigned char *in, unsigned char *out, size_t length)
{
    static const struct {
        const char *cipher;
        int encrypt, all; /* all: not at three lengths only */
        size_t most;      /* the longest */
    } rows[] =
        {
            {"AES-256-CTR", 1, 1, 4 * GIB},  {"AES-256-ECB", 1, 1, 4 * GIB},
            {"AES-256-ECB", 0, 1, GIB},      {"AES-256-CBC", 0, 1, 4 * GIB},
            {"AES-256-CBC", 1, 1, 16 * MIB}, /* serial: the CPU's on both sides */
            {"AES-192-CTR", 1, 0, GIB},      {"AES-128-CTR", 1, 0, GIB},
            {"AES-128-ECB", 1, 0, GIB},      {"AES-128-CBC", 0, 0, GIB},
        };
    struct bulk b = {.part = "bulk", .memory = kind_name(kind)};
    int some = length == MIB || length == 64 * MIB || (length == GIB && kind == PINNED);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((!rows[i].all && !some) || length > rows[i].most)
            continue;
        pair_memory(&b.pair, in, out);
        bulk_row(&b, rows[i].cipher, rows[i].encrypt, length);
        pair_memory(&b.pair, in, in);
        if (length <= GIB) /* the default provider takes a second */
            bulk_row(&b, rows[i].cipher, rows[i].encrypt, length);
    }
}

static void bulk_memory(enum kind kind, size_t most)
{
    struct buffer in = buffer_take(kind, most), out = buffer_take(kind, most);
    if (in.p == NULL || out.p == NULL)
        print_skipped("bulk", "%s memory of %zu bytes: %s", kind_name(kind), most,
                      kind == PAGEABLE ? "there is not so much" : no_device());
    for (size_t length = 64 * KIB; in.p != NULL && out.p != NULL && length <= most; length *= 4)
        bulk_ciphers(kind, in.p, out.p, length);
    buffer_give(&in);
    buffer_give(&out);
}

static void print_peak(void)
{
    struct row peak = {.part = "pinned",
                       .operation = "peak",
                       .value = {(double)provider_figure("pinned-peak") / (double)MIB,
                                 256}, /* the default of pinned-bytes */
                       .unit = "MiB",
                       .against = "pinned-bytes"};
    print_row(&peak);
}

int part_bulk(void)
{
    warm_up();
    bulk_memory(PAGEABLE, options.quick ? MIB : GIB);
    bulk_memory(PINNED, options.quick ? MIB : 4 * GIB);
    print_peak();
    return 0;
}

/* ---- Helper threads --------------------------------------------------------- */

/*
 * GPUAES_THREADS stands in the environment. The GPU does it all: what the provider
 * would choose is seen in the part `bulk`.
 */
int part_threads(void)
{
    size_t length = options.quick ? 64 * KIB : 256 * MIB;
    const char *threads = getenv("GPUAES_THREADS");
    struct bulk b = {.part = "threads",
                     .memory = "pageable",
                     .threads = threads != NULL ? (unsigned)strtoul(threads, NULL, 10) : 1};
    setenv("GPUAES_POLICY", "gpu", 1);
    warm_up();
    if (gpuaes_state() != GPUAES_READY) {
        print_skipped("threads", "%s", no_device());
        return 0;
    }
    struct buffer in = buffer_take(PAGEABLE, length), out = buffer_take(PAGEABLE, length);
    for (size_t m = 0; m < MODE_ROWS && in.p != NULL && out.p != NULL; m++) {
        char cipher[32];
        (void)snprintf(cipher, sizeof cipher, "AES-256-%s", mode_rows[m].mode);
        pair_memory(&b.pair, in.p, out.p);
        bulk_row(&b, cipher, mode_rows[m].encrypt, length);
        pair_memory(&b.pair, in.p, in.p);
        bulk_row(&b, cipher, mode_rows[m].encrypt, length);
    }
    buffer_give(&in);
    buffer_give(&out);
    return 0;
}

/* ---- Between host and device memory ------------------------------------------ */

static void mixed_rows(const struct buffer *host, const struct buffer *device,
                       const struct buffer *other, size_t length)
{
    char memory[48];
    struct bulk b = {.part = "mixed", .memory = memory, .device_memory = 1};
    for (size_t m = 0; m < MODE_ROWS; m++) {
        char cipher[32];
        (void)snprintf(cipher, sizeof cipher, "AES-256-%s", mode_rows[m].mode);
        pair_memory(&b.pair, host->p, other->p);
        b.pair.out[OURS] = device->p;
        (void)snprintf(memory, sizeof memory, "%s>device", kind_name(host->kind));
        bulk_row(&b, cipher, mode_rows[m].encrypt, length);
        b.pair.in[OURS] = device->p;
        b.pair.out[OURS] = host->p;
        (void)snprintf(memory, sizeof memory, "device>%s", kind_name(host->kind));
        bulk_row(&b, cipher, mode_rows[m].encrypt, length);
    }
}

int part_mixed(void)
{
    size_t most = options.quick ? 256 * KIB : GIB;
    warm_up();
    if (gpuaes_state() != GPUAES_READY || !card_begin(0)) {
        print_skipped("mixed", "%s", no_device());
        return 0;
    }
    struct buffer device = buffer_take(DEVICE, most), pinned = buffer_take(PINNED, most),
                  pageable = buffer_take(PAGEABLE, most), other = buffer_take(PAGEABLE, most);
    if (device.p == NULL || pinned.p == NULL || pageable.p == NULL || other.p == NULL) {
        print_skipped("mixed", "there is not enough memory");
        return 0;
    }
    for (size_t length = most; length >= 256 * KIB; length /= 8)
        mixed_rows(&pinned, &device, &other, length);
    mixed_rows(&pageable, &device, &other, most / 4);
    buffer_give(&device);
    buffer_give(&pinned);
    buffer_give(&pageable);
    buffer_give(&other);
    return 0;
}
