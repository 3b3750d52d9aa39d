/*
 * Passwords, from where the options say, in the words of openssl-passphrase-options(1).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_PASSWORD_H
#define GPUAES_TOOL_PASSWORD_H

#include <stddef.h>

enum { PASSWORD_ROOM = 1024 };

/*
 * A password as "pass:...", "env:NAME", "file:PATH", "fd:NUMBER" or "stdin" name it, of which
 * the first line counts. What stands in `source` itself is cleansed. 1, or 0: it says why.
 */
int password_from(char *source, char password[PASSWORD_ROOM]);

/* The first line of a file, for -kfile, which ignores a carriage return at its end. */
int password_from_key_file(const char *path, char password[PASSWORD_ROOM]);

/* One that was given as an option's value, which is cleansed. */
int password_take(char *value, char password[PASSWORD_ROOM]);

/* Asks on the terminal; twice, where `confirm`. */
int password_ask(const char *cipher, int confirm, char password[PASSWORD_ROOM]);

#endif
