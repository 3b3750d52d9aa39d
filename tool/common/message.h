/*
 * Messages about what is wrong.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_MESSAGE_H
#define GPUAES_TOOL_COMMON_MESSAGE_H

/* The name that messages begin with, such as "gpuaes enc". */
extern const char *tool_name;

/* Says what is wrong on stderr, and returns 0. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, followed by OpenSSL's last error, if any. */
int complain_openssl(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns OpenSSL's last error as a sentence, "" if there was none, and clears the queue. */
const char *openssl_reason(void);

/* Returns OpenSSL's first error likewise: the cause, where each caller has added an error. */
const char *openssl_first_reason(void);

#endif
