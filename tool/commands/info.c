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
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/common/rates.h"
#include "tool/pipeline/pipeline.h"

static const size_t sizes[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0], SIZES_QUICK = 3 };

static void print_devices(int ready, const char *why_not)
{
    struct gpuaes_device_info device = {.struct_bytes = sizeof device};
    struct gpuaes_statistics statistics = {.struct_bytes = sizeof statistics};
    struct gpuaes_settings settings = {.struct_bytes = sizeof settings};
    char text[RATES_TEXT];
    if (!ready)
        (void)printf("GPU: none: %s\n", why_not);
    for (unsigned n = 0; ready && gpuaes_device(n, &device); n++) {
        rates_describe(n, &device, text);
        (void)printf("GPU %d: %s\n", device.ordinal, text);
    }
    gpuaes_get_statistics(&statistics);
    if (ready)
        (void)printf("start of the GPU: %" PRIu64 " ms\n", statistics.start_ms);
    if (ready && gpuaes_get_settings(&settings))
        (void)printf("CPU: a large update in pageable memory uses up to %u thread%s\n",
                     settings.threads, settings.threads == 1 ? "" : "s");
    unsigned threads = pipeline_threads(UINT64_MAX);
    (void)printf("CPU: gpuaes enc uses %u thread%s\n", threads, threads == 1 ? "" : "s");
}

static void print_facts(const struct library *library, const struct configuration *c, int ready,
                        const char *why_not)
{
    (void)printf("gpuaes %s, CUDA %s\n%s\nprovider: %s%s\n", PACKAGE_VERSION, gpuaes_build(),
                 OpenSSL_version(OPENSSL_VERSION),
                 library->gpuaes != NULL ? "loaded" : "not loaded: ", library->why_not);
    print_devices(ready, why_not);
    configuration_print(c);
    (void)printf("\n");
}

static int run(struct library *library, int quick)
{
    const struct rates_plan plan = {
        .sizes = sizes, .size_count = quick ? SIZES_QUICK : SIZES, .seconds = quick ? 0.1 : 4};
    struct configuration configuration;
    const char *why_not;
    configuration_examine(&configuration, library);
    int ready = rates_wait_for_device(library, &why_not);
    print_facts(library, &configuration, ready, why_not);
    return library->gpuaes == NULL || rates_print(library, &plan);
}

static const char usage[] = "usage: gpuaes info [--quick]\n"
                            "\n"
                            "Shows GPUs, rates, CPU or GPU, and how openssl.cnf uses gpuaes.\n"
                            "\n"
                            "  --quick  lengths up to 256 KiB alone, measured briefly\n";

int info_command(int argc, char **argv)
{
    struct library library;
    int quick = 0;
    const struct option_rule known[] = {{"quick", OPTION_FLAG, &quick, 1, 0, NULL},
                                        {NULL, OPTION_FLAG, NULL, 0, 0, NULL}};
    int read = options_read(argc, argv, usage, known, NULL, NULL);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    int ok = run(&library, quick);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
