/*
 * The stages that encode pieces in Base64, with lines of any length, and decode them: what is no
 * Base64 is left out, what remains is dealt out in whole groups of four characters, and these are
 * decoded.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_BASE64_H
#define GPUAES_TOOL_STAGES_BASE64_H

#include "tool/pipeline/pipeline.h"

struct base64_encode {
    uint64_t line; /* characters of a line; 0: no lines */
    size_t piece;  /* bytes of each piece but the last; a multiple of BASE64_UNIT */
};

/* What the bytes of a piece are a multiple of: it is whole groups, and blocks of AES. */
enum { BASE64_UNIT = 3 * 16 };

/* Characters and line ends of a piece. */
size_t base64_encode_capacity(const struct base64_encode *job);

stage_fn base64_encode_piece;

/* What may stand between the characters of Base64. */
enum base64_between {
    BASE64_LINE_FEEDS,  /* as coreutils' base64 has it */
    BASE64_WHITE_SPACE, /* as openssl enc has it; and padding is only at the end */
    BASE64_GARBAGE      /* everything */
};

enum { BASE64_CARRY = 64 }; /* 48 bytes: three blocks of AES */

struct base64_decode {
    enum base64_between between;
    const char *name; /* of the input, for messages; NULL: messages are as coreutils' */
    unsigned char carry[BASE64_CARRY]; /* from the piece before, in order */
    size_t carried;
};

/* Cleanses what it has carried over. */
void base64_decode_close(struct base64_decode *job);

/* Adds the stages. Pieces come out as multiples of 48 bytes, but for the last. */
void base64_decode_add(struct base64_decode *job, struct pipeline *pipeline);

/*
 * Decodes a text that is at hand: its first bytes, at most `capacity`. Returns how many there
 * are in front of whatever is wrong; `right` is set to whether all of the text is Base64.
 */
size_t base64_decode_some(enum base64_between between, const unsigned char *text, size_t count,
                          unsigned char *out, size_t capacity, int *right);

#endif
