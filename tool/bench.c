/*
 * `gpuaes bench`: rates beside OpenSSL's default provider, in a minute. The whole benchmark
 * is in test/bench.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "describe.h"
#include "rates.h"
#include "tool.h"
#include "words.h"

static const size_t sizes[] = {16 << 10, 256 << 10, 4 << 20, 64 << 20, 256 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

struct bench {
    double seconds; /* for all of it */
    size_t most;
};

static const char usage[] = "usage: gpuaes bench [--seconds=N] [--quick]\n"
                            "\n"
                            "Rates of one thread beside OpenSSL's default provider (Base64: beside "
                            "libcrypto's\nfunctions), in turns; medians, GB/s of input.\n"
                            "\n"
                            "  --seconds=N  about so long (60)\n"
                            "  --quick      to see that it works; the figures mean little\n";

static int read_options(int argc, char **argv, struct bench *bench)
{
    int quick = 0;
    const char *seconds = NULL;
    char *end = NULL;
    const struct word known[] = {{"seconds", NULL, &seconds}, {"quick", &quick, NULL}, {0}};
    int read = words_read(argc, argv, known, usage);
    if (read <= 0)
        return read;
    if (quick) {
        bench->seconds = 1;
        bench->most = 1 << 20;
    }
    if (seconds != NULL &&
        ((bench->seconds = strtod(seconds, &end)) <= 0 || bench->seconds > 86400 || *end != '\0'))
        return complain("--seconds=%s: expected a number of seconds", seconds);
    return 1;
}

static void print_side(struct rates *rates, enum rates_work work, enum rates_memory memory,
                       size_t bytes, double seconds, double *theirs)
{
    struct rate rate;
    if (!rates_measure(rates, work, memory, bytes, seconds, &rate)) {
        (void)printf("  %8s %6s %-3s", "-", "", "");
        return;
    }
    if (*theirs <= 0)
        (void)printf(" %9.2f", *theirs = rate.theirs);
    (void)printf("  %8.2f %5.1fx %s", rate.ours, rate.ours / rate.theirs,
                 rate.by_gpu ? "GPU" : "CPU");
}

static void print_row(struct rates *rates, enum rates_work work, size_t bytes, double seconds)
{
    char text[DESCRIBE_TEXT];
    double theirs = 0;
    describe_bytes(bytes, text);
    (void)printf("%-14s %8s", rates_names[work], text);
    print_side(rates, work, RATES_ORDINARY, bytes, seconds, &theirs);
    print_side(rates, work, RATES_PINNED, bytes, seconds, &theirs);
    (void)printf("\n");
    (void)fflush(stdout);
}

static int run(struct library *library, const struct bench *bench)
{
    struct rates rates;
    const char *why_not;
    if (library->gpuaes == NULL)
        return complain("the provider gpuaes cannot be loaded: %s", library->why_not);
    if (!rates_wait_for_device(library, &why_not))
        (void)printf("No GPU: %s\n\n", why_not);
    if (!rates_open(&rates, library, bench->most))
        return complain("there is no memory for buffers");
    int rows = 0;
    for (int i = 0; i < SIZES; i++)
        rows += sizes[i] <= bench->most ? RATES_WORKS : 0;
    double seconds = bench->seconds / rows / (rates.memory[RATES_PINNED] != NULL ? 2 : 1);
    (void)printf("AES-256, GB/s           %9s  %-18s  %-18s\n%-14s %8s %9s  %-18s  %-18s\n",
                 "default", "ordinary memory", "pinned memory", "", "update", "provider",
                 "  gpuaes", "  gpuaes");
    for (int work = 0; work < RATES_WORKS; work++)
        for (int i = 0; i < SIZES; i++)
            if (sizes[i] <= bench->most)
                print_row(&rates, (enum rates_work)work, sizes[i], seconds);
    rates_close(&rates);
    return 1;
}

int bench_command(int argc, char **argv)
{
    struct bench bench = {.seconds = 60, .most = sizes[SIZES - 1]};
    struct library library;
    int read = read_options(argc, argv, &bench);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    library_load(&library);
    int ok = run(&library, &bench);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
