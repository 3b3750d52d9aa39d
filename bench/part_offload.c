/*
 * Base64 over the bus as a study of 2019 measured it: 3 KB to 300 MB by scalar and by
 * vector accesses, for a second at least each, ours and the CPU's for a quarter of one; 1 to 32
 * streams; power meanwhile. Rates are of bytes read and written, transfers included.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/offload.h"

#include <unistd.h>

#include "bench/options.h"
#include "bench/parts.h"
#include "bench/power.h"
#include "bench/rows.h"
#include "bench/sides.h"

/* Kernels as theirs, libgpuaes, and libcrypto. */
enum way { BY_SCALARS, BY_VECTORS, BY_LIBRARY, BY_CPU, WAYS };

static const struct {
    const char *operation, *processor;
} ways[WAYS] = {{"encode, scalar", "gpu"},
                {"encode, vector", "gpu"},
                {"encode, libgpuaes", "gpu"},
                {"encode, EVP_EncodeBlock", "cpu"}};

struct encoding {
    struct offload offload;
    enum way way;
    unsigned streams; /* of side OURS; the reference has one */
};

static void encode(int side, void *argument)
{
    struct encoding *e = argument;
    struct offload *o = &e->offload;
    if (e->way == BY_CPU)
        EVP_EncodeBlock(o->out, o->in, (int)o->length);
    else if (e->way == BY_LIBRARY) {
        if (gpuaes_base64_encode(o->in, o->length, o->out, 0, GPUAES_WAIT) != GPUAES_OK) {
            (void)fprintf(stderr, "gpuaes_bench: gpuaes_base64_encode: %s\n", gpuaes_reason());
            exit(EXIT_FAILURE);
        }
    } else {
        o->access = e->way == BY_VECTORS ? VECTOR : SCALAR;
        o->streams = side == OURS ? e->streams : 1;
        offload_run(o);
    }
}

static double seconds_of_case(void)
{
    return options.quick ? 0.001 : options.case_seconds;
}

static struct row row_of(const struct encoding *e, const char *part)
{
    return (struct row){.part = part,
                        .cipher = "BASE64",
                        .operation = ways[e->way].operation,
                        .statistic = "sustained",
                        .bytes = e->offload.length,
                        .memory = "pinned",
                        .placement = "out of place",
                        .processor = ways[e->way].processor};
}

static void size_rows(struct encoding *e, size_t most)
{
    struct offload *o = &e->offload;
    e->streams = 1;
    for (o->length = 3000; o->length <= most; o->length *= 10)
        for (e->way = BY_SCALARS; e->way < WAYS; e->way++) {
            struct row row = row_of(e, "offload");
            encode(OURS, e);
            /* So long for what was published so. */
            double seconds = seconds_of_case() / (e->way >= BY_LIBRARY ? 4 : 1);
            double each = measure_sustained(seconds, encode, e);
            offload_check(o);
            row.unit = "GB/s";
            row.value[OURS] = (double)(o->length + base64_characters(o->length)) / each / 1e9;
            print_row(&row);
        }
}

static void stream_rows(struct encoding *e, size_t length)
{
    e->way = BY_SCALARS;
    e->offload.length = length;
    options.seconds = seconds_of_case();
    for (e->streams = 2; e->streams <= OFFLOAD_STREAMS; e->streams *= 2) {
        struct row row = row_of(e, "offload-streams");
        struct result result = measure(MOST_TURNS, encode, e);
        row.statistic = "median";
        row.threads = e->streams;
        row.against = "one stream";
        print_rates(&row, &result, (double)(length + base64_characters(length)));
    }
}

/* Encodes, or does nothing, for so long. */
static void spend(struct encoding *e, int encodes, double seconds)
{
    if (encodes)
        (void)measure_sustained(seconds, encode, e);
    else
        usleep((useconds_t)(seconds * 1e6));
}

/* Rows of the power meanwhile; NULL, or why there are none. */
static const char *power_case(struct encoding *e, struct power *power, int encodes)
{
    double seconds = 1.5 * seconds_of_case();
    struct row row = row_of(e, "power");
    if (!encodes) {
        row.operation = "nothing";
        row.bytes = 0;
        row.processor = NULL;
    }
    row.unit = "W";
    spend(e, encodes, seconds / 6); /* power follows with a delay */
    power_begin(power);
    spend(e, encodes, seconds);
    const char *why = power_end(power);
    const double watts[] = {power->least, power->sum / (power->samples != 0 ? power->samples : 1),
                            power->most};
    static const char *const statistics[] = {"least", "mean", "most"};
    for (size_t i = 0; why == NULL && i < sizeof watts / sizeof watts[0]; i++) {
        row.statistic = statistics[i];
        row.value[OURS] = watts[i];
        print_row(&row);
    }
    return why;
}

static void power_rows(struct encoding *e, size_t length)
{
    struct power power;
    const char *why = power_open(&power, 0);
    e->offload.length = length;
    e->streams = 1;
    if (why == NULL)
        why = power_case(e, &power, 0);
    for (e->way = BY_SCALARS; why == NULL && e->way <= BY_LIBRARY; e->way += BY_LIBRARY)
        why = power_case(e, &power, 1);
    if (why != NULL)
        print_skipped("power", "%s", why);
}

int part_offload(void)
{
    size_t most = options.quick ? 30000 : 300000000;
    struct encoding e = {.streams = 1};
    warm_up();
    if (!offload_open(&e.offload, most, "offload"))
        return 0;
    struct buffer in = buffer_take(PINNED, most),
                  out = buffer_take(PINNED, base64_characters(most) + 1);
    e.offload.in = in.p;
    e.offload.out = out.p;
    if (in.p == NULL || out.p == NULL)
        print_skipped("offload", "pinned memory: %s", no_device());
    else {
        size_rows(&e, most);
        stream_rows(&e, most);
        power_rows(&e, most);
    }
    buffer_give(&in);
    buffer_give(&out);
    offload_close(&e.offload);
    return 0;
}
