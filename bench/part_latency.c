/*
 * The time of one update in pinned memory, 16 bytes to 1 MiB: by libgpuaes, and
 * through EVP with every update for the device (min-bytes=0), beside the default
 * provider.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct latency {
    struct pair pair;
    struct call call;
    int through_evp;
};

static void one_update(int side, void *argument)
{
    struct latency *l = argument;
    if (side == OURS && !l->through_evp)
        call_run(&l->call);
    else
        pair_updates(side, &l->pair);
}

static void latency_rows(struct latency *l, const struct mode_row *mode, size_t length)
{
    char cipher[32];
    struct row row = {.part = l->through_evp ? "latency-evp" : "latency-api",
                      .cipher = cipher,
                      .operation = direction(mode->encrypt),
                      .bytes = length,
                      .memory = "pinned",
                      .placement = "out of place",
                      .processor = "gpu",
                      .against = of_openssl("default provider")};
    struct figures before = figures_get(&providers);
    (void)snprintf(cipher, sizeof cipher, "AES-256-%s", mode->mode);
    l->pair.length = l->call.length = length;
    l->pair.calls = 1;
    pair_open(&l->pair, cipher, mode->encrypt);
    struct result result = measure(1001, one_update, l);
    pair_close(&l->pair);
    if (l->through_evp)
        row.processor = processor_since(&before, (double)((result.turns + 1) * length));
    row.statistic = "median";
    print_times(&row, &result, 1, "us", 1e6);
    row.statistic = "p99";
    print_times(&row, &result, 1, "us", 1e6);
}

/* GPUAES_MIN_BYTES=0 stands in the environment. */
int part_latency(void)
{
    size_t most = options.quick ? 4 * KIB : MIB;
    warm_up();
    struct buffer in = buffer_take(PINNED, most), out = buffer_take(PINNED, most);
    if (in.p == NULL || out.p == NULL)
        print_skipped("latency", "pinned memory: %s", no_device());
    for (size_t m = 0; m < MODE_ROWS && in.p != NULL && out.p != NULL; m++)
        for (size_t length = 16; length <= most; length *= 4) {
            struct latency l = {.call = call_make(mode_rows[m].op, 256)};
            pair_memory(&l.pair, in.p, out.p);
            l.call.in = in.p;
            l.call.out = out.p;
            for (l.through_evp = 0; l.through_evp < 2; l.through_evp++)
                latency_rows(&l, &mode_rows[m], length);
        }
    buffer_give(&in);
    buffer_give(&out);
    return 0;
}
