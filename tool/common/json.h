/*
 * JSON on standard output.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_JSON_H
#define GPUAES_TOOL_COMMON_JSON_H

/* Each prints a member of what was opened last; `name` is NULL in arrays and outermost. */
void json_open(const char *name, char bracket); /* '{' or '[' */
void json_close(char bracket);                  /* '}' or ']' */
void json_text(const char *name, const char *value);
/* A number, or true or false. */
void json_value(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
