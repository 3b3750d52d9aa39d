/*
 * `gpuaes bench`: rates compared with OpenSSL's default provider, in a minute. The whole benchmark
 * is in bench/.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "tool/commands/commands.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/common/rates.h"

enum { SIZES = 5, QUICK_SIZES = 2 };

static const char usage[] =
    "usage: gpuaes bench [--seconds=N] [--quick] [--cipher=NAME] [--size=N]\n"
    "\n"
    "Rates of one thread compared with OpenSSL's default provider (Base64: with libcrypto's\n"
    "functions), in turns; medians, GB/s of input. GCM: messages of one update, with IV\n"
    "and tag.\n"
    "\n"
    "  --seconds=N    about so long (60)\n"
    "  --quick        to see that it works; the figures mean little\n"
    "  --cipher=NAME  this one only: ctr, ecb, cbc, gcm, xts or base64; or one direction,\n"
    "                 as in cbc-decrypt or base64-encode\n"
    "  --size=N       updates of N bytes only, as in 64K or 16M\n";

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

static int choose_works(struct rates_plan *plan, const char *name)
{
    int chosen = 0;
    for (int work = 0; work < RATES_WORKS; work++) {
        plan->skips[work] = name != NULL && !is_meant(name, rates_works[work]);
        chosen += !plan->skips[work];
    }
    return chosen;
}

static int run(struct library *library, const struct rates_plan *plan)
{
    const char *why_not;
    if (library->gpuaes == NULL)
        return complain("the provider gpuaes cannot be loaded: %s", library->why_not);
    if (!rates_wait_for_device(library, &why_not))
        (void)printf("No GPU: %s\n\n", why_not);
    return rates_print(library, plan);
}

int bench_command(int argc, char **argv)
{
    static const size_t all_sizes[SIZES] = {16 << 10, 256 << 10, 4 << 20, 64 << 20, 256 << 20};
    int quick = 0;
    const char *cipher = NULL;
    uint64_t seconds = 0, size = 0;
    const struct option_rule known[] = {{"seconds", OPTION_NUMBER, &seconds, 1, 86400, NULL},
                                        {"quick", OPTION_FLAG, &quick, 1, 0, NULL},
                                        {"cipher", OPTION_TEXT, &cipher, 0, 0, NULL},
                                        {"size", OPTION_BYTES, &size, 64, 1 << 30, NULL},
                                        {NULL, OPTION_FLAG, NULL, 0, 0, NULL}};
    int read = options_read(argc, argv, usage, known, NULL, NULL);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    struct rates_plan plan = {.sizes = all_sizes,
                              .size_count = quick ? QUICK_SIZES : SIZES,
                              .seconds = seconds != 0 ? (double)seconds
                                         : quick      ? 1
                                                      : 60};
    if (size != 0) {
        plan.sizes = &size;
        plan.size_count = 1;
    }
    if (!choose_works(&plan, cipher))
        return !complain("--cipher=%s: expected ctr, ecb, cbc, gcm, xts or base64, or one "
                         "direction, as in cbc-decrypt",
                         cipher);
    if (rates_rows(&plan) == 0)
        return !complain("--cipher=%s: XTS takes updates of 16 MiB at most", cipher);
    struct library library;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    int ok = run(&library, &plan);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
