/*
 * Updates of device memory through EVP, with the parameter device-memory=1, beside
 * bare calls of libgpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct evp_case {
    struct pair pair;
    struct call call;
};

static void evp_beside_bare(int side, void *argument)
{
    struct evp_case *e = argument;
    if (side == OURS)
        pair_updates(OURS, &e->pair);
    else
        call_run(&e->call);
}

static void evp_row(const struct device_memory *m, const struct mode_row *mode, size_t length)
{
    char cipher[32];
    int yes = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_int("device-memory", &yes), OSSL_PARAM_END};
    struct evp_case e = {.pair = {.length = length, .calls = 1}, .call = call_make(mode->op, 256)};
    struct row row = {.part = "evp-kernels",
                      .cipher = cipher,
                      .operation = direction(mode->encrypt),
                      .bytes = length,
                      .memory = "device",
                      .placement = "out of place",
                      .against = "bare call"};
    struct figures before = figures_get(&providers);
    (void)snprintf(cipher, sizeof cipher, "AES-256-%s", mode->mode);
    pair_memory(&e.pair, m->in, m->out);
    pair_open(&e.pair, cipher, mode->encrypt);
    EVP_CIPHER_CTX_set_params(e.pair.context[OURS], params);
    e.call.in = m->in;
    e.call.out = m->out;
    e.call.length = length;
    struct result result = measure(31, evp_beside_bare, &e);
    pair_close(&e.pair);
    row.processor = processor_since(&before, (double)(result.turns + 1) * (double)length);
    print_rates(&row, &result, (double)length);
}

int part_evp_kernels(void)
{
    struct device_memory m;
    warm_up();
    if (!device_memory_open(&m, options.quick ? 256 * KIB : GIB, "evp-kernels"))
        return 0;
    for (size_t length = m.bytes; length >= 256 * KIB; length /= 16)
        for (size_t i = 0; i < MODE_ROWS; i++)
            evp_row(&m, &mode_rows[i], length);
    device_memory_close(&m);
    return 0;
}
