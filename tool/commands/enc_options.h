/*
 * The options of `gpuaes enc`: those of openssl enc, and some more.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMANDS_ENC_OPTIONS_H
#define GPUAES_TOOL_COMMANDS_ENC_OPTIONS_H

#include <stdint.h>

struct enc_options {
    int decrypt, base64, one_line, no_padding, no_salt, print, print_only, verbose;
    const char *in, *out, *cipher, *md, *iv;
    char *key, *password, *pass, *salt; /* copies */
    const char *key_file;
    int pbkdf2;
    uint64_t iterations, salt_bytes, piece, threads; /* 0: by default */
    const char *part;        /* --offset or --length, those that were given; NULL: all is done */
    uint64_t offset, length; /* the latter: UINT64_MAX for all */
    int sync, no_clobber, is_piece;
    int progress; /* enum progress_wish */
};

/*
 * Returns 1; 0 with what is wrong said; or -1 after the help that was asked for. Takes the secrets
 * off the command line.
 */
int enc_options_read(struct enc_options *options, int argc, char **argv);

/* Cleanses and frees the secrets. */
void enc_options_forget(struct enc_options *options);

#endif
