/*
 * Whole programs, start and exit included: the script `programs` measures them and
 * prints the rows.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/options.h"
#include "bench/parts.h"

static int programs(const char *part)
{
    char seconds[40];
    const char *modules = getenv("OPENSSL_MODULES");
    int emulated = modules != NULL && strstr(modules, "/emulated") != NULL;
    (void)snprintf(seconds, sizeof seconds, "--speed-seconds=%u", options.speed_seconds);
    execlp(PERL, PERL, PROGRAMS, "--stream=" STREAM,
           emulated ? "--command=" COMMAND_EMULATED : "--command=" COMMAND, seconds,
           options.quick ? "--quick" : "--", part, (char *)NULL);
    perror("gpuaes_bench: " PERL);
    return EXIT_FAILURE;
}

int part_speed(void)
{
    return programs("speed");
}

int part_enc(void)
{
    return programs("enc");
}

int part_file_programs(void)
{
    return programs("files");
}

int part_streams(void)
{
    return programs("streams");
}

int part_memory(void)
{
    return programs("memory");
}
