/*
 * JSON on standard output.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_JSON_H
#define GPUAES_TOOL_COMMON_JSON_H

#include <stdint.h>

/* Each prints a member of what was opened last; `name` is NULL in arrays and outermost. */
void json_open(const char *name, char bracket); /* '{' or '[' */
void json_close(char bracket);                  /* '}' or ']'; the outermost ends the line */
void json_text(const char *name, const char *value);
void json_count(const char *name, uint64_t value);
void json_figure(const char *name, double value);
void json_truth(const char *name, int value);

#endif
