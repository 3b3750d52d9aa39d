/*
 * `gpuaes bench`: rates compared with OpenSSL's default provider, in a minute. The whole benchmark
 * is in bench/.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tool/commands/commands.h"
#include "tool/common/describe.h"
#include "tool/common/json.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/common/rates.h"

enum { SIZES = 5, QUICK_SIZES = 2 };

struct bench {
    double seconds; /* for all of it */
    size_t sizes[SIZES];
    int size_count;
    int works[RATES_WORKS]; /* which are measured */
    int json;
};

static const char usage[] =
    "usage: gpuaes bench [--seconds=N] [--quick] [--cipher=NAME] [--size=N] [--json]\n"
    "\n"
    "Rates of one thread compared with OpenSSL's default provider (Base64: with libcrypto's\n"
    "functions), in turns; medians, GB/s of input.\n"
    "\n"
    "  --seconds=N    about so long (60)\n"
    "  --quick        to see that it works; the figures mean little\n"
    "  --cipher=NAME  this one only: ctr, ecb, cbc or base64; or one direction, as in\n"
    "                 cbc-decrypt or base64-encode\n"
    "  --size=N       updates of N bytes only, as in 64K or 16M\n"
    "  --json         for programs\n";

/* Whether a name of the option means the work: "cbc", "aes-256-cbc", "cbc-decrypt". */
static int is_meant(const char *name, const char *work)
{
    static const char aes[] = "aes-256-";
    if (strncasecmp(name, aes, sizeof aes - 1) == 0)
        name += sizeof aes - 1;
    for (; *name != '\0'; name++, work++)
        if (tolower((unsigned char)*name) != (*work == ' ' ? '-' : tolower((unsigned char)*work)))
            return 0;
    return *work == '\0' || *work == ' ';
}

static int choose_works(struct bench *bench, const char *name)
{
    int chosen = 0;
    for (int work = 0; work < RATES_WORKS; work++)
        chosen += bench->works[work] = name == NULL || is_meant(name, rates_rows[work].name);
    return chosen != 0 ||
           complain("--cipher=%s: expected ctr, ecb, cbc or base64, or one direction, as in "
                    "cbc-decrypt",
                    name);
}

static int read_options(int argc, char **argv, struct bench *bench)
{
    int quick = 0;
    const char *cipher = NULL;
    uint64_t seconds = 0, size = 0;
    const struct option_rule known[] = {{"seconds", OPTION_NUMBER, &seconds, 1, 86400, NULL},
                                        {"quick", OPTION_FLAG, &quick, 1, 0, NULL},
                                        {"cipher", OPTION_TEXT, &cipher, 0, 0, NULL},
                                        {"size", OPTION_NUMBER, &size, 64, 1 << 30, NULL},
                                        {"json", OPTION_FLAG, &bench->json, 1, 0, NULL},
                                        {NULL, OPTION_FLAG, NULL, 0, 0, NULL}};
    int read = options_read(argc, argv, usage, known, NULL, NULL);
    if (read <= 0)
        return read;
    bench->seconds = seconds != 0 ? (double)seconds : quick ? 1 : 60;
    bench->size_count = quick ? QUICK_SIZES : SIZES;
    if (size != 0) {
        bench->sizes[0] = (size_t)size;
        bench->size_count = 1;
    }
    return choose_works(bench, cipher);
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
    (void)printf("%-14s %8s", rates_rows[work].name, text);
    print_side(rates, work, RATES_PAGEABLE, bytes, seconds, &theirs);
    print_side(rates, work, RATES_PINNED, bytes, seconds, &theirs);
    (void)printf("\n");
    (void)fflush(stdout);
}

static void print_row_json(struct rates *rates, enum rates_work work, size_t bytes, double seconds)
{
    struct rate rate;
    for (int memory = RATES_PAGEABLE; memory <= RATES_PINNED; memory++)
        if (rates_measure(rates, work, (enum rates_memory)memory, bytes, seconds, &rate))
            rates_print_json(work, (enum rates_memory)memory, bytes, &rate);
}

static void print_head(const struct bench *bench, const char *why_no_device)
{
    if (bench->json) {
        json_open(NULL, '{');
        json_text("unit", "GB/s");
        json_text("no_gpu", why_no_device);
        json_open("rows", '[');
        return;
    }
    if (why_no_device[0] != '\0')
        (void)printf("No GPU: %s\n\n", why_no_device);
    (void)printf("AES-256, GB/s           %9s  %-18s  %-18s\n%-14s %8s %9s  %-18s  %-18s\n",
                 "default", "pageable memory", "pinned memory", "", "update", "provider",
                 "  gpuaes", "  gpuaes");
}

static void print_end(const struct bench *bench)
{
    if (!bench->json)
        return;
    json_close(']');
    json_close('}');
}

static int run(struct library *library, const struct bench *bench)
{
    struct rates rates;
    const char *why_not;
    if (library->gpuaes == NULL)
        return complain("the provider gpuaes cannot be loaded: %s", library->why_not);
    (void)rates_wait_for_device(library, &why_not);
    if (!rates_open(&rates, library, bench->sizes[bench->size_count - 1]))
        return complain("there is no memory for buffers");
    int rows = 0;
    for (int work = 0; work < RATES_WORKS; work++)
        rows += bench->works[work] ? bench->size_count : 0;
    double seconds = bench->seconds / rows / (rates.memory[RATES_PINNED] != NULL ? 2 : 1);
    print_head(bench, why_not);
    for (int work = 0; work < RATES_WORKS; work++)
        for (int i = 0; bench->works[work] && i < bench->size_count; i++)
            (bench->json ? print_row_json : print_row)(&rates, (enum rates_work)work,
                                                       bench->sizes[i], seconds);
    print_end(bench);
    rates_close(&rates);
    return 1;
}

int bench_command(int argc, char **argv)
{
    struct bench bench = {.sizes = {16 << 10, 256 << 10, 4 << 20, 64 << 20, 256 << 20}};
    struct library library;
    int read = read_options(argc, argv, &bench);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    int ok = run(&library, &bench);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
