/*
 * `gpuaes base64`: what coreutils' base64 does, with its options and messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/commands/commands.h"
#include "tool/commands/progress.h"
#include "tool/common/library.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/stages/base64.h"
#include "tool/stages/output.h"
#include "tool/stages/source.h"

enum {
    WRAP = 76,
    PIECE = 2 << 20,
    SLACK = 64,
    OPTION_THREADS = 256,
    OPTION_BUFFER,
    OPTION_PROGRESS,
    OPTION_NO_PROGRESS
};

struct base64 {
    int decode, ignore_garbage;
    uint64_t wrap;
    const char *in;
    size_t piece;
    unsigned threads;
    enum progress_wish progress;
    struct library library;
    struct source source;
    struct output output;
    struct base64_encode encoding;
    struct base64_decode decoding;
    struct pipeline pipeline;
};

/* ---- Options --------------------------------------------------------------------------- */

static void usage(void)
{
    (void)printf(
        "Usage: %s [OPTION]... [FILE]\n"
        "Base64 encode or decode FILE, or standard input, to standard output.\n"
        "\n"
        "With no FILE, or when FILE is -, read standard input.\n"
        "\n"
        "  -d, --decode          decode data\n"
        "  -i, --ignore-garbage  when decoding, ignore what is not of the alphabet\n"
        "  -w, --wrap=COLS       lines of so many characters (76); 0: no lines\n"
        "      --threads=N       that read, work and write (the CPUs, 8 at most)\n"
        "      --buffer-size=N   bytes of a piece (2M)\n"
        "      --progress, --no-progress   always / never show progress\n"
        "      --help\n"
        "      --version\n"
        "\n"
        "The alphabet is that of RFC 4648. When decoding, line feeds may stand anywhere.\n",
        tool_name);
}

static int try_help(void)
{
    (void)fprintf(stderr, "Try '%s --help' for more information.\n", tool_name);
    return -1;
}

/* As coreutils has it: more than fits is as good as no lines. */
static int read_wrap(const char *text, uint64_t *wrap)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || n < 0)
        return complain("invalid wrap size: '%s'", text) - 1;
    *wrap = errno == ERANGE ? 0 : (uint64_t)n;
    return 1;
}

static int read_sizes(int option, const char *text, struct base64 *job)
{
    uint64_t n;
    int is_threads = option == OPTION_THREADS;
    uint64_t most = is_threads ? PIPELINE_THREADS : (uint64_t)1 << 29;
    if (!option_number(is_threads ? "--threads=" : "--buffer-size=", text, 1, most, &n))
        return -1;
    if (is_threads)
        job->threads = (unsigned)n;
    else
        job->piece = (size_t)n;
    return 1;
}

/* 1; 0 where there is nothing to be done; -1 where something is wrong. */
static int take_option(int option, struct base64 *job)
{
    switch (option) {
    case 'd':
        job->decode = 1;
        return 1;
    case 'i':
        job->ignore_garbage = 1;
        return 1;
    case 'w':
        return read_wrap(optarg, &job->wrap);
    case OPTION_THREADS:
    case OPTION_BUFFER:
        return read_sizes(option, optarg, job);
    case OPTION_PROGRESS:
    case OPTION_NO_PROGRESS:
        job->progress = option == OPTION_PROGRESS ? PROGRESS_ALWAYS : PROGRESS_NEVER;
        return 1;
    case 'h':
        usage();
        return 0;
    case 'V':
        (void)printf("%s (gpuaes) %s\n", tool_name, PACKAGE_VERSION);
        return 0;
    default:
        return try_help();
    }
}

static int read_options(int argc, char **argv, struct base64 *job)
{
    static const struct option known[] = {{"decode", no_argument, NULL, 'd'},
                                          {"ignore-garbage", no_argument, NULL, 'i'},
                                          {"wrap", required_argument, NULL, 'w'},
                                          {"threads", required_argument, NULL, OPTION_THREADS},
                                          {"buffer-size", required_argument, NULL, OPTION_BUFFER},
                                          {"progress", no_argument, NULL, OPTION_PROGRESS},
                                          {"no-progress", no_argument, NULL, OPTION_NO_PROGRESS},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
    static char name[64];
    (void)snprintf(name, sizeof name, "%s", tool_name);
    argv[0] = name; /* for the messages of getopt_long() */
    for (int option; (option = getopt_long(argc, argv, "diw:", known, NULL)) != -1;) {
        int result = take_option(option, job);
        if (result <= 0)
            return result;
    }
    if (argc - optind > 1) {
        (void)complain("extra operand '%s'", argv[optind + 1]);
        return try_help();
    }
    job->in = argv[optind];
    return 1;
}

/* ---- The work -------------------------------------------------------------------------- */

static void build(struct base64 *job)
{
    struct pipeline *pipeline = &job->pipeline;
    job->source.done = &pipeline->done;
    pipeline_add(pipeline, source_read, &job->source,
                 job->source.seekable ? STAGE_UNORDERED : STAGE_ORDERED);
    if (job->decode) {
        job->decoding.between = job->ignore_garbage ? BASE64_GARBAGE : BASE64_LINE_FEEDS;
        job->decoding.cipher = base64_fetch(&job->library);
        base64_decode_add(&job->decoding, pipeline);
        pipeline->capacity = job->source.piece + SLACK;
    } else {
        job->encoding.line = job->wrap;
        job->encoding.piece = job->source.piece;
        job->encoding.cipher = base64_fetch(&job->library);
        pipeline_add(pipeline, base64_encode_piece, &job->encoding, STAGE_OFFLOADABLE);
        pipeline->capacity = base64_encode_capacity(&job->encoding);
    }
    pipeline_add(pipeline, output_place, &job->output, STAGE_ORDERED);
    pipeline_add(pipeline, output_write, &job->output, STAGE_UNORDERED);
}

static int run(struct base64 *job)
{
    struct progress progress;
    size_t unit = job->piece < BASE64_UNIT ? BASE64_UNIT : job->piece / BASE64_UNIT * BASE64_UNIT;
    if (!source_open(&job->source, job->in)) {
        if (errno == EISDIR || job->in == NULL)
            return complain("read error: %s", strerror(errno));
        return complain("%s: %s", job->in, strerror(errno));
    }
    job->source.name = "read error";
    job->source.piece = job->source.first = unit;
    if (job->threads == 0)
        job->threads = pipeline_threads(source_pieces(&job->source));
    job->pipeline.threads = job->threads;
    if (!library_open(&job->library))
        return 0;
    int measures = library_measures(1);
    library_load(&job->library);
    if (!library_check(&job->library))
        return 0;
    if (!output_open(&job->output, NULL, 0))
        return complain("write error: %s", strerror(errno));
    job->output.name = "write error";
    build(job);
    offload_begin(&job->pipeline.offload, &job->library, measures, job->threads,
                  source_expected(&job->source));
    progress_begin(&progress, job->progress, &job->pipeline.done, source_expected(&job->source),
                   job->output.fd);
    int ok = pipeline_run(&job->pipeline, progress_tick, &progress);
    progress_end(&progress);
    if (!ok) {
        output_abandon(&job->output);
        return complain("%s", job->pipeline.error);
    }
    if (!output_commit(&job->output))
        return complain("write error: %s", strerror(errno));
    progress_summary(&progress);
    return 1;
}

int base64_command(int argc, char **argv)
{
    static struct base64 job = {.wrap = WRAP, .piece = PIECE};
    int result = read_options(argc, argv, &job);
    if (result <= 0)
        return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    result = run(&job);
    EVP_CIPHER_free(job.encoding.cipher);
    base64_decode_close(&job.decoding);
    if (job.source.name != NULL)
        source_close(&job.source);
    library_close(&job.library);
    return result ? EXIT_SUCCESS : EXIT_FAILURE;
}
