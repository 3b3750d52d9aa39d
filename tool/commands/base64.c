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
#include "tool/commands/stream.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/stages/base64.h"

enum {
    WRAP = 76,
    SLACK = 64,
    OPTION_THREADS = 256,
    OPTION_BUFFER,
    OPTION_PROGRESS,
    OPTION_NO_PROGRESS
};

struct base64 {
    int decode, ignore_garbage, progress;
    uint64_t wrap, piece, threads; /* piece and threads: 0 by default */
    const char *in;
    struct stream stream;
    struct base64_encode encoding;
    struct base64_decode decoding;
};

static void usage(void)
{
    (void)printf(
        "Usage: %s [OPTION]... [FILE]\n"
        "Base64 encode or decode FILE, or standard input, to standard output, by the CPU's\n"
        "threads and libcrypto.\n"
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
        return option_number("--threads=", optarg, 1, PIPELINE_THREADS, &job->threads) ? 1 : -1;
    case OPTION_BUFFER:
        return option_bytes("--buffer-size=", optarg, 1, 1 << 29, &job->piece) ? 1 : -1;
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

static void build(struct base64 *job)
{
    struct stream *stream = &job->stream;
    if (job->decode) {
        job->decoding.between = job->ignore_garbage ? BASE64_GARBAGE : BASE64_LINE_FEEDS;
        base64_decode_add(&job->decoding, &stream->pipeline);
        stream->pipeline.capacity = stream->source.piece + SLACK;
    } else {
        job->encoding = (struct base64_encode){.line = job->wrap, .piece = stream->source.piece};
        pipeline_add(&stream->pipeline, base64_encode_piece, &job->encoding, STAGE_UNORDERED);
        stream->pipeline.capacity = base64_encode_capacity(&job->encoding);
    }
}

static int run(struct base64 *job)
{
    struct stream *stream = &job->stream;
    if (!source_open(&stream->source, job->in))
        return complain("%s: %s", errno == EISDIR || job->in == NULL ? "read error" : job->in,
                        strerror(errno));
    stream->source.name = "read error";
    stream_begin(stream, job->piece, BASE64_UNIT, job->threads);
    if (!output_open(&stream->output, NULL, 0, 0))
        return complain("write error: %s", strerror(errno));
    stream->output.name = "write error";
    build(job);
    return stream_run(stream, job->progress);
}

int base64_command(int argc, char **argv)
{
    static struct base64 job = {.wrap = WRAP};
    int result = read_options(argc, argv, &job);
    if (result <= 0)
        return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    result = run(&job);
    base64_decode_close(&job.decoding);
    stream_close(&job.stream);
    return result ? EXIT_SUCCESS : EXIT_FAILURE;
}
