/*
 * Numbers in options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_NUMBER_H
#define GPUAES_TOOL_COMMON_NUMBER_H

#include <stdint.h>

/* A decimal number with an optional k, K, M, G or T, powers of 1024. 0 if it is none. */
int number_read(const char *text, uint64_t *number);

/*
 * The same, for a number from `least` to `most`. Otherwise it says what is expected of the option,
 * written as "-bufsize " or "--threads=", and returns 0.
 */
int number_read_option(const char *option, const char *text, uint64_t least, uint64_t most,
                       uint64_t *number);

#endif
