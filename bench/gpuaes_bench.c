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

struct options options = {.seconds = 0.3, .speed_seconds = 10, .case_seconds = 1};

static const struct part {
    const char *name; /* what is named to get it; NULL: always there */
    int (*run)(void);
    const char *setting, *value; /* in the environment, or as it is; NULL: the device starts at
                                    once */
} parts[] = {
    {NULL, part_header, NULL, NULL},
    {"limits", part_limits, NULL, NULL},
    {"limits", part_host_limits, NULL, NULL},
    {"kernels", part_kernels, NULL, NULL},
    {"kernels", part_evp_kernels, NULL, NULL},
    {"kernels", part_base64_kernels, NULL, NULL},
    {"families", part_families, "GPUAES_KERNEL", "small"},
    {"families", part_families, "GPUAES_KERNEL", "two_table"},
    {"families", part_families, "GPUAES_KERNEL", "large"},
    {"families", part_families, "GPUAES_KERNEL", "hybrid"},
    {"latency", part_latency, "GPUAES_MIN_BYTES", "0"},
    {"small", part_small, NULL, NULL},
    {"bulk", part_bulk, NULL, NULL},
    {"mixed", part_mixed, NULL, NULL},
    {"threads", part_threads, "GPUAES_THREADS", "1"},
    {"threads", part_threads, "GPUAES_THREADS", "2"},
    {"threads", part_threads, "GPUAES_THREADS", "4"},
    {"threads", part_threads, "GPUAES_THREADS", "8"},
    {"devices", part_devices, NULL, NULL},
    {"start", part_start_small, "GPUAES_START", "auto"},
    {"start", part_start_large, "GPUAES_START", "auto"},
    {"load", part_load, NULL, NULL},
    {"base64", part_base64, NULL, NULL},
    {"read-ahead", part_read_ahead, NULL, NULL},
    {"batch", part_batch, NULL, NULL},
    {"batch", part_batch_mixed, NULL, NULL},
    {"batch", part_batch_overhead, "GPUAES_KERNEL", "small"},
    {"encoders", part_encoders, NULL, NULL},
    {"offload", part_offload, NULL, NULL},
    {"files", part_files, NULL, NULL},
    {"files", part_file_programs, "GPUAES_START", NULL},
    {"tables", part_reference_tables, NULL, NULL},
    {"tables", part_reference_families, "GPUAES_KERNEL", "small"},
    {"tables", part_reference_families, "GPUAES_KERNEL", "two_table"},
    {"tables", part_reference_families, "GPUAES_KERNEL", "large"},
    {"tables", part_reference_families, "GPUAES_KERNEL", "hybrid"},
    {"reads", part_reference_reads, NULL, NULL},
    {"expansion", part_reference_expansion, NULL, NULL},
    {"speed", part_speed, "GPUAES_START", NULL},
    {"enc", part_enc, "GPUAES_START", NULL},
    {"streams", part_streams, "GPUAES_START", NULL},
    {"memory", part_memory, "GPUAES_START", NULL},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static void usage(FILE *to)
{
    static const char text[] =
        "usage: gpuaes_bench [OPTION...] [PART...]\n"
        "\n"
        "  --quick            measure little, to see that all works; the figures mean nothing\n"
        "  --seconds=N        time for one row, both sides together (0.3)\n"
        "  --speed-seconds=N  of the part speed: time for CTR of 4 KiB, ours (10)\n"
        "  --case-seconds=N   of the part offload: time for one case of theirs, at least (1)\n"
        "  --devices=LIST     of the part devices: GPUs together with the first one (all, then "
        "0,1)\n"
        "  --help\n"
        "\n"
        "Parts, all of them where none is named:\n"
        "  limits      what the card, its bus and the CPU's memory can do\n"
        "  kernels     device memory in and out, 64 KiB to 4 GiB: AES, Base64, and through EVP\n"
        "  families    each family of kernels, forced\n"
        "  latency     one update of 16 bytes to 1 MiB in pinned memory\n"
        "  small       updates of 16 bytes to 16 KiB, each cipher and direction\n"
        "  bulk        one update of 64 KiB to 4 GiB, pinned and pageable\n"
        "  mixed       one update between host and device memory\n"
        "  threads     pageable memory with 1, 2, 4 and 8 threads\n"
        "  devices     several GPUs compared with one\n"
        "  start       the longest single update before, during and after the GPU's start\n"
        "  load        what loading the module takes: time, and resident memory\n"
        "  base64      the BASE64 cipher compared with EVP_EncodeBlock() and EVP_DecodeBlock()\n"
        "  read-ahead  CTR updates of 16 bytes to 1 MiB that are read ahead of; many streams\n"
        "  batch       many messages at once: rates over their number and their size\n"
        "Parts that repeat published work, with its kernels:\n"
        "  encoders    Base64 of 1 to 36 MiB: a plain encoder, GPUs, libcrypto\n"
        "  offload     Base64 of 3 KB to 300 MB over the bus: accesses, streams, power\n"
        "  files       AES-256 over size and one core or all, gpuaes enc and openssl enc\n"
        "  tables      AES-CTR with tables in each kind of memory, and ours, 4 KiB to 1 GiB\n"
        "  reads       random and coherent reads of each kind of memory\n"
        "  expansion   of keys, on the CPU and on the device\n"
        "Parts of whole programs, start and exit included:\n"
        "  speed       openssl speed, each mode\n"
        "  enc         openssl enc of files of 1 KiB, 64 MiB and 4 GiB\n"
        "  streams     processes that stream 512 MiB to 16 GiB; rate over time; 64 threads\n"
        "  memory      memory of the GPU before, during and after\n";
    (void)fputs(text, to);
}

static int is_wanted(const struct part *part, char **named)
{
    if (part->name == NULL || *named == NULL)
        return 1;
    for (; *named != NULL; named++)
        if (strcmp(*named, part->name) == 0)
            return 1;
    return 0;
}

static int is_known(const char *name)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].name != NULL && strcmp(parts[i].name, name) == 0)
            return 1;
    return 0;
}

/* Runs one part in a process of its own; 1 if it failed. */
static int run_part(const struct part *part)
{
    int status = -1;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (part->setting == NULL || part->value != NULL)
            setenv("GPUAES_START", "eager", 1);
        if (part->value != NULL)
            setenv(part->setting, part->value, 1);
        exit(part->run());
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        (void)fprintf(stderr, "gpuaes_bench: part %s%s%s failed, status %#x\n",
                      part->name != NULL ? part->name : "header",
                      part->value != NULL ? " with " : "", part->value != NULL ? part->value : "",
                      (unsigned)status);
        return 1;
    }
    return 0;
}

/* Where the names of parts begin. Ends the program where there is nothing to measure. */
static int read_options(int argc, char **argv)
{
    static const struct option known[] = {{"quick", no_argument, NULL, 'q'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"speed-seconds", required_argument, NULL, 'p'},
                                          {"case-seconds", required_argument, NULL, 'c'},
                                          {"devices", required_argument, NULL, 'd'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        char *end = NULL;
        int right = 1;
        if (c == 'q')
            options.quick = 1;
        else if (c == 'd')
            options.devices = optarg;
        else if (c == 's')
            right = (options.seconds = strtod(optarg, &end)) > 0 && *end == '\0';
        else if (c == 'c')
            right = (options.case_seconds = strtod(optarg, &end)) > 0 && *end == '\0';
        else if (c == 'p')
            right =
                (options.speed_seconds = (unsigned)strtoul(optarg, &end, 10)) > 0 && *end == '\0';
        else
            right = 0;
        if (!right) {
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
