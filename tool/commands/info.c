/*
 * `gpuaes info`: devices, rates, CPU or GPU, and what openssl.cnf makes of gpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/gpuaes.h"
#include "tool/commands/commands.h"
#include "tool/common/configuration.h"
#include "tool/common/describe.h"
#include "tool/common/json.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/common/rates.h"
#include "tool/pipeline/pipeline.h"

static const double seconds_each = 0.05, seconds_quick = 0.002;
static const size_t sizes[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0], SIZES_QUICK = 3 };

struct table {
    struct rates rates;
    int sizes;
    double seconds; /* for each */
};

static struct table new_table(int quick)
{
    return (struct table){.sizes = quick ? SIZES_QUICK : SIZES,
                          .seconds = quick ? seconds_quick : seconds_each};
}

static void print_versions(const struct library *library)
{
    (void)printf("gpuaes %s, CUDA %s\n%s\n", PACKAGE_VERSION, gpuaes_build(),
                 OpenSSL_version(OPENSSL_VERSION));
    if (library->gpuaes != NULL)
        (void)printf("provider: loaded\n");
    else
        (void)printf("provider: not loaded: %s\n", library->why_not);
}

static void print_devices(int ready, const char *why_not)
{
    struct gpuaes_device_info device;
    struct gpuaes_statistics statistics;
    struct gpuaes_settings settings;
    char text[DESCRIBE_TEXT];
    if (!ready)
        (void)printf("GPU: none: %s\n", why_not);
    for (unsigned n = 0; ready && gpuaes_device(n, &device); n++) {
        describe_device(&device, text);
        (void)printf("GPU %d: %s\n", device.ordinal, text);
    }
    gpuaes_get_statistics(&statistics);
    if (ready)
        (void)printf("start of the GPU: %" PRIu64 " ms\n", statistics.start_ms);
    if (ready && gpuaes_get_settings(&settings))
        (void)printf("CPU: a large update in pageable memory uses up to %u threads\n",
                     settings.threads);
    (void)printf("CPU: gpuaes enc uses %u threads%s\n", pipeline_threads(UINT64_MAX),
                 ready ? "" : ", of libcrypto's AES alone");
}

static void print_configuration(const struct configuration *c)
{
    (void)printf("\nopenssl.cnf: %s\n", c->path);
    if (c->uses_gpuaes)
        (void)printf("  programs that read it use gpuaes\n");
    else
        (void)printf("  programs that read it do not use gpuaes: %s\n  what to change: %s\n",
                     c->why_not, c->change);
    if (c->note[0] != '\0')
        (void)printf("  note: %s\n", c->note);
}

static void print_row(struct table *table, enum rates_work work, enum rates_memory memory)
{
    struct rate rate;
    (void)printf("%-14s", rates_rows[work].name);
    for (int i = 0; i < table->sizes; i++)
        if (rates_measure(&table->rates, work, memory, sizes[i], table->seconds, &rate))
            (void)printf(" %s %6.2f", rate.by_gpu ? "GPU" : "CPU", rate.ours);
        else
            (void)printf("          -");
    (void)printf("\n");
    (void)fflush(stdout);
}

static void print_table(struct table *table, enum rates_memory memory)
{
    (void)printf("\nEngine and GB/s of one update, AES-256, %s memory, one thread\n%-14s",
                 memory == RATES_PINNED ? "pinned" : "pageable", "");
    for (int i = 0; i < table->sizes; i++) {
        char text[DESCRIBE_TEXT];
        describe_bytes(sizes[i], text);
        (void)printf(" %10s", text);
    }
    (void)printf("\n");
    for (int work = 0; work < RATES_WORKS; work++)
        print_row(table, (enum rates_work)work, memory);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void print_devices_json(int ready, const char *why_not)
{
    struct gpuaes_device_info device;
    struct gpuaes_statistics statistics;
    struct gpuaes_settings settings;
    json_text("no_gpu", why_not);
    json_open("gpus", '[');
    for (unsigned n = 0; ready && gpuaes_device(n, &device); n++) {
        json_open(NULL, '{');
        json_count("device", (uint64_t)device.ordinal);
        json_text("name", device.name);
        json_count("compute_major", (uint64_t)device.compute_major);
        json_count("compute_minor", (uint64_t)device.compute_minor);
        json_count("multiprocessors", (uint64_t)device.multiprocessors);
        json_count("driver", (uint64_t)device.driver_version);
        json_close('}');
    }
    json_close(']');
    gpuaes_get_statistics(&statistics);
    json_count("start_ms", statistics.start_ms);
    if (ready && gpuaes_get_settings(&settings))
        json_count("update_threads", settings.threads);
    json_count("enc_threads", pipeline_threads(UINT64_MAX));
}

static void print_configuration_json(const struct configuration *c)
{
    json_open("configuration", '{');
    json_text("path", c->path);
    json_truth("uses_gpuaes", c->uses_gpuaes);
    json_text("why_not", c->why_not);
    json_text("change", c->change);
    json_text("note", c->note);
    json_close('}');
}

static void print_rates_json(struct table *table)
{
    struct rate rate;
    json_open("rates", '[');
    for (int work = 0; work < RATES_WORKS; work++)
        for (int i = 0; i < table->sizes; i++)
            for (int memory = RATES_PAGEABLE; memory <= RATES_PINNED; memory++)
                if (rates_measure(&table->rates, (enum rates_work)work, (enum rates_memory)memory,
                                  sizes[i], table->seconds, &rate))
                    rates_print_json((enum rates_work)work, (enum rates_memory)memory, sizes[i],
                                     &rate);
    json_close(']');
}

/* ---- The command ---------------------------------------------------------------------------- */

/* What both forms show. */
struct facts {
    const struct library *library;
    struct configuration configuration;
    int ready; /* a device is, or */
    const char *why_not;
    struct table table;
    int measurable; /* the provider is loaded, and there is memory for buffers */
};

static void print_all(struct facts *facts)
{
    print_versions(facts->library);
    print_devices(facts->ready, facts->why_not);
    print_configuration(&facts->configuration);
    if (!facts->measurable)
        return;
    print_table(&facts->table, RATES_PAGEABLE);
    if (facts->table.rates.memory[RATES_PINNED] != NULL)
        print_table(&facts->table, RATES_PINNED);
}

static void print_all_json(struct facts *facts)
{
    json_open(NULL, '{');
    json_text("gpuaes", PACKAGE_VERSION);
    json_text("cuda", gpuaes_build());
    json_text("openssl", OpenSSL_version(OPENSSL_VERSION));
    json_truth("provider_loaded", facts->library->gpuaes != NULL);
    json_text("provider_why_not", facts->library->why_not);
    print_devices_json(facts->ready, facts->why_not);
    print_configuration_json(&facts->configuration);
    if (facts->measurable)
        print_rates_json(&facts->table);
    json_close('}');
}

static int run(struct library *library, int quick, int json)
{
    struct facts facts = {.library = library, .table = new_table(quick)};
    configuration_examine(&facts.configuration);
    facts.ready = rates_wait_for_device(library, &facts.why_not);
    facts.measurable = library->gpuaes != NULL &&
                       rates_open(&facts.table.rates, library, sizes[facts.table.sizes - 1]);
    (json ? print_all_json : print_all)(&facts);
    if (library->gpuaes != NULL && !facts.measurable)
        return complain("there is no memory for buffers");
    rates_close(&facts.table.rates);
    return 1;
}

static const char usage[] = "usage: gpuaes info [--quick] [--json]\n"
                            "\n"
                            "Shows GPUs, rates, CPU or GPU, and how openssl.cnf uses gpuaes.\n"
                            "\n"
                            "  --quick  lengths up to 256 KiB alone, measured briefly\n"
                            "  --json   for programs\n";

int info_command(int argc, char **argv)
{
    struct library library;
    int quick = 0, json = 0;
    const struct option_rule known[] = {{"quick", OPTION_FLAG, &quick, 1, 0, NULL},
                                        {"json", OPTION_FLAG, &json, 1, 0, NULL},
                                        {NULL, OPTION_FLAG, NULL, 0, 0, NULL}};
    int read = options_read(argc, argv, usage, known, NULL, NULL);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    int ok = run(&library, quick, json);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
