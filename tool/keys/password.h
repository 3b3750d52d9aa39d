/*
 * Passwords, from where the options say, in the words of openssl-passphrase-options(1).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_KEYS_PASSWORD_H
#define GPUAES_TOOL_KEYS_PASSWORD_H

/*
 * Each returns a password, for option_forget(); or NULL after saying why there is none. A line is
 * cut where openssl enc cuts it: after 1023 bytes, or 127 with -kfile, or before a zero byte. It
 * says so.
 */

/* As "pass:...", "env:NAME", "file:PATH", "fd:NUMBER" or "stdin" name it: of the last three, the
 * first line. */
char *password_from(const char *source);

/* The first line of a file, or of standard input for "-", as -kfile reads it: without carriage
 * returns at its end. */
char *password_from_key_file(const char *path);

/* Asks on the terminal; twice, where `confirm`. */
char *password_ask(const char *cipher, int confirm);

#endif
