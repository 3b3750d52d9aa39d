/*
 * The command gpuaes: which subcommand it is.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/commands/commands.h"
#include "tool/common/message.h"

static const struct command {
    const char *name, *full_name;
    command_fn *run;
} commands[] = {
    {"enc", "gpuaes enc", enc_command},          {"dec", "gpuaes dec", dec_command},
    {"base64", "gpuaes base64", base64_command}, {"info", "gpuaes info", info_command},
    {"doctor", "gpuaes doctor", doctor_command},
};

static void usage(FILE *to)
{
    static const char text[] =
        "usage: gpuaes COMMAND [OPTION...]\n"
        "       gpuaes help [COMMAND]\n"
        "       gpuaes -h|--help|-v|--version\n"
        "\n"
        "  enc, dec   encrypt or decrypt a file or a pipe by all CPUs, as openssl enc does\n"
        "  base64     encode or decode Base64 by all CPUs, as base64 does\n"
        "  info       GPUs, rates compared with OpenSSL's default provider, CPU or GPU, and\n"
        "             what openssl.cnf makes of gpuaes\n"
        "  doctor     what is wrong here, and what to do about it\n"
        "\n"
        "gpuaes help COMMAND has its options; gpuaes(1) is the manual.\n";
    (void)fputs(text, to);
}

/*
 * Where the caller closed one of the first three, the next file to be opened would get its
 * number, and be taken for standard output. What stands there instead can only fail.
 */
static int hold_standard_files(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return 0;
    return 1;
}

/* The status, once all that was printed has arrived. */
static int printed(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return complain("write error: %s", strerror(errno)) + 1;
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[0], commands[i].name) == 0) {
            tool_name = commands[i].full_name;
            return printed(commands[i].run(argc, argv));
        }
    (void)complain("there is no command \"%s\"; gpuaes --help lists them", argv[0]);
    return 2;
}

/* Returns 1, or complains of the word and returns 0. */
static int is_last(const char *next)
{
    return next == NULL || complain("\"%s\": expected nothing more (see gpuaes --help)", next);
}

/* Shows the help of all, or of the command that is the first word. */
static int help(char **words)
{
    char option[] = "--help";
    if (words[0] == NULL) {
        usage(stdout);
        return printed(0);
    }
    return is_last(words[1]) ? run_command(2, (char *[]){words[0], option, NULL}) : 1;
}

int main(int argc, char **argv)
{
    if (!hold_standard_files())
        return 1;
    /* The configuration is for programs; what this one wants of OpenSSL, it says itself. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    if (argc > 0 && strcmp(basename(argv[0]), "base64") == 0) {
        tool_name = "base64";
        return printed(base64_command(argc, argv));
    }
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    const char *word = argv[1] + strspn(argv[1], "-");
    if (strcmp(word, "help") == 0 || strcmp(word, "h") == 0)
        return help(argv + 2);
    if (strcmp(word, "version") == 0 || strcmp(word, "V") == 0 || strcmp(word, "v") == 0) {
        if (!is_last(argv[2]))
            return 1;
        (void)printf("gpuaes %s (%s)\n", PACKAGE_VERSION, OpenSSL_version(OPENSSL_VERSION));
        return printed(0);
    }
    return run_command(argc - 1, argv + 1);
}
