/*
 * The longest single update before, during and after the device's start.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

enum phase { BEFORE, DURING, AFTER, PHASES };

struct latencies {
    double longest[PHASES], sum[PHASES];
    size_t count[PHASES];
};

static void watch_update(const struct pair *p, int side, struct latencies *l, enum phase phase)
{
    double began = now(), took;
    int n;
    EVP_CipherUpdate(p->context[side], p->out[side], &n, p->in[side], (int)p->length);
    took = now() - began;
    l->count[phase]++;
    l->sum[phase] += took;
    if (took > l->longest[phase])
        l->longest[phase] = took;
}

/* Updates of one side for as long as its device starts; without a start, until `until`. */
static void watch_updates(int side, const struct pair *p, size_t start_bytes, double until,
                          struct latencies *l)
{
    size_t done = 0;
    double deadline = now() + until, ready = 0;
    enum phase phase = BEFORE;
    memset(l, 0, sizeof *l);
    while (now() < deadline) {
        if (phase == BEFORE && done >= start_bytes)
            phase = DURING;
        if (phase == DURING && side == OURS && l->count[DURING] % 8 == 0 &&
            figures_get(&test_providers).start_ms) {
            phase = AFTER;
            ready = now();
        }
        if (phase == AFTER && now() > ready + (options.quick ? 0.02 : 0.5))
            break;
        watch_update(p, side, l, phase);
        done += p->length;
    }
}

static void print_phase(struct row *row, const char *phase, const struct latencies *ours,
                        enum phase at, const struct latencies *other)
{
    /* The default provider knows no start. */
    enum phase same = other->count[at] != 0 ? at : BEFORE;
    row->operation = phase;
    row->statistic = "longest";
    row->value[OURS] = ours->longest[at] * 1e6;
    row->value[REFERENCE] = other->longest[same] * 1e6;
    print_row(row);
    row->statistic = "mean";
    row->value[OURS] = ours->sum[at] / (double)ours->count[at] * 1e6;
    row->value[REFERENCE] = other->sum[same] / (double)other->count[same] * 1e6;
    print_row(row);
}

static int start_rows(size_t length)
{
    static const char *const names[PHASES] = {"before the start", "during the start",
                                              "after the start"};
    size_t start_bytes = options.quick ? MIB : GIB;
    struct pair p = {.length = length};
    struct latencies ours, other;
    struct row row = {.part = "start",
                      .cipher = "AES-256-CTR",
                      .bytes = length,
                      .memory = "pageable",
                      .placement = "in place",
                      .unit = "us",
                      .against = of_openssl("default provider")};
    char number[32];

    (void)snprintf(number, sizeof number, "%zu", start_bytes);
    setenv("GPUAES_START_BYTES", number, 1);
    test_providers = providers_load();
    unsigned char *buffer = aligned_alloc(4096, length);
    memset(buffer, 1, length);
    pair_memory(&p, buffer, buffer);
    pair_open(&p, "AES-256-CTR", 1);
    watch_updates(REFERENCE, &p, start_bytes, options.quick ? 0.1 : 2, &other);
    watch_updates(OURS, &p, start_bytes, options.quick ? 1 : 5, &ours);
    for (enum phase phase = BEFORE; phase < PHASES; phase++)
        if (ours.count[phase] != 0)
            print_phase(&row, names[phase], &ours, phase, &other);
        else
            print_skipped("start", "no update of %zu bytes %s", length, names[phase]);
    row.operation = "time that it took";
    row.statistic = row.against = NULL;
    row.unit = "ms";
    row.value[OURS] = (double)figures_get(&test_providers).start_ms;
    row.value[REFERENCE] = 0;
    if (row.value[OURS] > 0)
        print_row(&row);
    pair_close(&p);
    free(buffer);
    return 0;
}

int part_start_small(void)
{
    return start_rows(64 * KIB);
}

int part_start_large(void)
{
    return start_rows(MIB);
}
