/*
 * The stage that encodes pieces in Base64, with lines of any length.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_BASE64_ENCODE_H
#define GPUAES_TOOL_STAGES_BASE64_ENCODE_H

#include "tool/common/library.h"
#include "tool/pipeline/pipeline.h"

struct base64_encode {
    EVP_CIPHER *cipher; /* our provider's BASE64; NULL: libcrypto's functions do it */
    uint64_t line;      /* characters of a line; 0: no lines */
    size_t piece;       /* bytes of each piece but the last; a multiple of base64_encode_unit() */
};

/* What the bytes of a piece are a multiple of, so that it is whole lines if those are usual. */
enum { BASE64_UNIT = 3 * 16 * 19 }; /* lines of 64 and 76, and blocks of AES */

/* Characters and line ends of a piece. */
size_t base64_encode_room(const struct base64_encode *job);

void base64_encode_open(struct base64_encode *job, const struct library *library);
void base64_encode_close(struct base64_encode *job);

stage_fn base64_encode_piece;

#endif
