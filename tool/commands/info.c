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

static int run(struct library *library, int quick, double seconds)
{
    struct configuration configuration;
    const char *why_not;
    configuration_examine(&configuration, library);
    int ready = rates_wait_for_device(library, &why_not);
    print_facts(library, &configuration, ready, why_not);
    return library->gpuaes == NULL || rates_print(library, quick, seconds);
}

static const char usage[] =
    "usage: gpuaes info [--quick] [--seconds=N]\n"
    "\n"
    "Shows GPUs, how openssl.cnf uses gpuaes, CPU or GPU, and the rates of one thread compared\n"
    "with OpenSSL's default provider (Base64: with libcrypto's functions), in turns; medians,\n"
    "GB/s of input. GCM: messages of one update, with IV and tag.\n"
    "\n"
    "  --quick      lengths up to 256 KiB alone, measured briefly\n"
    "  --seconds=N  measure for about so long (4)\n";

int info_command(int argc, char **argv)
{
    struct library library;
    int quick = 0;
    uint64_t seconds = 0;
    const struct option_rule known[] = {{"quick", OPTION_FLAG, &quick, 1, 0, NULL},
                                        {"seconds", OPTION_NUMBER, &seconds, 1, 86400, NULL},
                                        {NULL, OPTION_FLAG, NULL, 0, 0, NULL}};
    int read = options_read(argc, argv, usage, known, NULL, NULL);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    int ok = run(&library, quick, seconds != 0 ? (double)seconds : quick ? 0.1 : 4);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
