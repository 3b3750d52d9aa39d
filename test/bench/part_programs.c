/*
 * Whole programs, start and exit included: the script `programs` measures them and
 * prints the rows.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "options.h"
#include "parts.h"

static int programs(const char *part)
{
    char seconds[40];
    (void)snprintf(seconds, sizeof seconds, "--speed-seconds=%u", options.speed_seconds);
    execlp(PERL, PERL, PROGRAMS, "--stream=" STREAM, seconds, options.quick ? "--quick" : "--",
           part, (char *)NULL);
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

int part_streams(void)
{
    return programs("streams");
}

int part_memory(void)
{
    return programs("memory");
}
