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

#define PROGRAMS_PART(function, part)                                                              \
    int function(void)                                                                             \
    {                                                                                              \
        return programs(part);                                                                     \
    }
PROGRAMS_PART(part_speed, "speed")
PROGRAMS_PART(part_enc, "enc")
PROGRAMS_PART(part_file_programs, "files")
PROGRAMS_PART(part_streams, "streams")
PROGRAMS_PART(part_memory, "memory")
