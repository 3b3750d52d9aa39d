/*
 * What the library and the provider do, compared with the default provider, with
 * libcrypto, and with the limits of the machine, measured in one run and
 * interleaved: the sides take turns, and medians are compared. Tab-separated
 * values to stdout (rows.h describes the columns); lines with # name the machine
 * and the columns. usage() says how it is run.
 *
 * Each part is a process of its own, since the devices start once in each, and
 * settings hold for a process.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/options.h"
#include "bench/parts.h"

#define FAMILIES "small two_table hybrid"

struct options options = {.seconds = 0.3, .revision = REVISION};

/*
 * What is run for the name of a part: a function, or the script `programs` where that is NULL. The
 * first line of each name says what it measures.
 */
static const struct part {
    const char *name; /* NULL: always run */
    int (*run)(void);
    /* A variable of the environment, and the values that it has in turn, or as it is. NULL: the
       device starts at once, which it does with a value as well. */
    const char *setting, *values;
    const char *what;
} parts[] = {
    {NULL, part_header, NULL, NULL, NULL},
    {"limits", part_limits, NULL, NULL, "what the card, its bus and the CPU's memory can do"},
    {"limits", part_host_limits, NULL, NULL, NULL},
    {"kernels", part_kernels, NULL, NULL,
     "device memory in and out, 64 KiB to 4 GiB: AES, Base64, and through EVP"},
    {"kernels", part_evp_kernels, NULL, NULL, NULL},
    {"kernels", part_base64_kernels, NULL, NULL, NULL},
    {"families", part_families, "GPUAES_KERNEL", FAMILIES, "each family of kernels, forced"},
    {"gcm", part_gcm_kernels, NULL, NULL,
     "GCM in device memory and CTR, and messages through EVP, 16 bytes to 1 GiB"},
    {"gcm", part_gcm_images, "GPUAES_IMAGE", "13 12", NULL},
    {"gcm", part_gcm_evp, NULL, NULL, NULL},
    {"gcm", part_gcm_small, NULL, NULL, NULL},
    {"gcm", part_gcm_bulk, NULL, NULL, NULL},
    {"latency", part_latency, "GPUAES_MIN_BYTES", "0",
     "one update of 16 bytes to 1 MiB in pinned memory"},
    {"small", part_small, NULL, NULL, "updates of 16 bytes to 16 KiB, each cipher and direction"},
    {"bulk", part_bulk, NULL, NULL, "one update of 64 KiB to 4 GiB, pinned and pageable"},
    {"mixed", part_mixed, NULL, NULL, "one update between host and device memory"},
    {"threads", part_threads, "GPUAES_THREADS", "1 2 4 8",
     "pageable memory with 1, 2, 4 and 8 threads"},
    {"devices", part_devices, NULL, NULL, "several GPUs compared with one"},
    {"start", part_start_small, "GPUAES_START", "auto",
     "the longest single update before, during and after the GPU's start"},
    {"start", part_start_large, "GPUAES_START", "auto", NULL},
    {"load", NULL, NULL, NULL, "what loading the module takes: time, and resident memory"},
    {"base64", part_base64, NULL, NULL,
     "the BASE64 cipher compared with EVP_EncodeBlock() and EVP_DecodeBlock()"},
    {"read-ahead", part_read_ahead, NULL, NULL,
     "CTR updates of 16 bytes to 1 MiB that are read ahead of; many streams"},
    {"batch", part_batch, NULL, NULL,
     "many messages at once: rates over their number and their size"},
    {"batch", part_batch_gcm, NULL, NULL, NULL},
    {"batch", part_batch_overhead, "GPUAES_KERNEL", "small", NULL},
    {"messages", part_messages, NULL, NULL,
     "messages that arrays in device memory describe: rates over number and length; times"},
    {"random", part_random, NULL, NULL,
     "random numbers in device memory: bytes, uniform and normal ones, integers"},
    {"files", part_files, NULL, NULL, "AES-256 over size, compared with one core and all"},
    {"speed", NULL, "GPUAES_START", NULL, "programs: openssl speed, each mode"},
    {"enc", NULL, "GPUAES_START", NULL,
     "programs: openssl enc of files of 1 KiB, 64 MiB and 4 GiB"},
    {"streams", NULL, "GPUAES_START", NULL,
     "programs: processes that stream 512 MiB to 16 GiB; rate over time; 64 threads"},
    {"memory", NULL, "GPUAES_START", NULL, "programs: memory of the GPU before, during and after"},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static void usage(FILE *to)
{
    static const char text[] =
        "usage: gpuaes_bench [OPTION...] [PART...]\n"
        "\n"
        "  --quick      measure little, to see that all works; the figures mean nothing\n"
        "  --seconds=N  time for one row, both sides together (0.3)\n"
        "  --help\n"
        "\n"
        "Parts, all of them where none is named; some measure whole programs, start and exit "
        "included:\n";
    (void)fputs(text, to);
    for (const struct part *part = parts; part < parts + PARTS; part++)
        if (part->what != NULL)
            (void)fprintf(to, "  %-12s  %s\n", part->name, part->what);
}

static int is_known(const char *name)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].name != NULL && strcmp(parts[i].name, name) == 0)
            return 1;
    return 0;
}

static int is_wanted(const struct part *part, char **named)
{
    int wanted = part->name == NULL || *named == NULL;
    for (; !wanted && *named != NULL; named++)
        wanted = strcmp(*named, part->name) == 0;
    return wanted;
}

/* Becomes the script that measures whole programs. */
static int become_programs(const char *part)
{
    execlp(PERL, PERL, PROGRAMS, "--stream=" STREAM, options.quick ? "--quick" : "--", part,
           (char *)NULL);
    perror("gpuaes_bench: " PERL);
    return EXIT_FAILURE;
}

/* Runs a part in a process of its own, with that value of its setting; returns 1 if it failed. */
static int run_part_with(const struct part *part, const char *value)
{
    int status = -1;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (part->setting == NULL || value != NULL)
            setenv("GPUAES_START", "eager", 1);
        if (value != NULL)
            setenv(part->setting, value, 1);
        exit(part->run != NULL ? part->run() : become_programs(part->name));
    }
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
        return 0;
    (void)fprintf(stderr, "gpuaes_bench: part %s%s%s failed, status %#x\n",
                  part->name != NULL ? part->name : "header", value != NULL ? " with " : "",
                  value != NULL ? value : "", (unsigned)status);
    return 1;
}

static int run_part(const struct part *part)
{
    char values[64], *rest = values;
    int failed = 0;
    if (part->values == NULL)
        return run_part_with(part, NULL);
    (void)snprintf(values, sizeof values, "%s", part->values);
    for (const char *value; (value = strsep(&rest, " ")) != NULL;)
        failed |= run_part_with(part, value);
    return failed;
}

/* Returns 1 if that is a number above 0, which it sets. */
static int read_seconds(const char *text, double *seconds)
{
    char *end = NULL;
    *seconds = strtod(text, &end);
    return *seconds > 0 && *end == '\0';
}

/* Where the names of parts begin. Ends the program where there is nothing to measure. */
static int read_options(int argc, char **argv)
{
    static const struct option known[] = {{"quick", no_argument, &options.quick, 1},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (c == 's' ? !read_seconds(optarg, &options.seconds) : c != 0) {
            usage(c == 'h' ? stdout : stderr);
            exit(c == 'h' ? EXIT_SUCCESS : 2);
        }
    }
    return optind;
}

int main(int argc, char **argv)
{
    int failed = 0;
    char **named = argv + read_options(argc, argv);
    for (char **name = named; *name != NULL; name++)
        if (!is_known(*name)) {
            (void)fprintf(stderr, "gpuaes_bench: there is no part %s\n", *name);
            usage(stderr);
            return 2;
        }
    for (size_t i = 0; i < PARTS; i++)
        if (is_wanted(&parts[i], named))
            failed |= run_part(&parts[i]);
    return failed;
}
