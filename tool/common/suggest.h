/*
 * The nearest known word to a mistyped one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_SUGGEST_H
#define GPUAES_TOOL_COMMON_SUGGEST_H

struct suggestion {
    const char *word; /* as typed */
    const char *best; /* the nearest so far; NULL where no known word is near */
    unsigned distance;
};

void suggestion_begin(struct suggestion *suggestion, const char *word);

/* Compares a known word, which stays the caller's. */
void suggestion_try(struct suggestion *suggestion, const char *known);

#endif
