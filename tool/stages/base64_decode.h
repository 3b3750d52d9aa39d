/*
 * The stages that decode pieces of Base64: what is no Base64 is left out, what remains is
 * dealt out in whole groups of four characters, and these are decoded.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_BASE64_DECODE_H
#define GPUAES_TOOL_STAGES_BASE64_DECODE_H

#include "tool/common/library.h"
#include "tool/pipeline/pipeline.h"

/* What may stand between the characters of Base64. */
enum base64_between {
    BASE64_LINE_FEEDS,  /* as coreutils' base64 has it */
    BASE64_WHITE_SPACE, /* as openssl enc has it; and padding is only at the end */
    BASE64_GARBAGE      /* everything */
};

enum { BASE64_CARRY = 64 }; /* 48 bytes: three blocks of AES */

struct base64_decode {
    EVP_CIPHER *cipher; /* our provider's BASE64; NULL: the CPU does it here */
    enum base64_between between;
    unsigned char carry[BASE64_CARRY]; /* from the piece before, in order */
    size_t carried;
};

void base64_decode_open(struct base64_decode *job, const struct library *library);
void base64_decode_close(struct base64_decode *job);

/* Adds the stages. Pieces come out as multiples of 48 bytes, but for the last. */
void base64_decode_add(struct base64_decode *job, struct pipeline *pipeline);

/*
 * Decodes a text that is at hand: its first bytes, at most `room`. Returns how many there
 * are in front of whatever is wrong; `right` is set to whether all of the text is Base64.
 */
size_t base64_decode_some(enum base64_between between, const unsigned char *text, size_t characters,
                          unsigned char *out, size_t room, int *right);

#endif
