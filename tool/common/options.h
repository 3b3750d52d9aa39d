/*
 * Options: tables of them, and their values.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_OPTIONS_H
#define GPUAES_TOOL_COMMON_OPTIONS_H

#include <stdint.h>

/* What `to` of an option points to, and gets. */
enum option_kind {
    OPTION_FLAG,   /* int: `least` */
    OPTION_TEXT,   /* const char *: the value, which stays in argv */
    OPTION_SECRET, /* char *: a copy, for option_forget(); the value in argv is cleansed */
    OPTION_NUMBER, /* uint64_t from `least` to `most` */
    OPTION_BYTES   /* the same, with K, M, G or T */
};
struct option_rule {
    const char *name; /* without dashes; NULL ends a table */
    enum option_kind kind;
    void *to;
    uint64_t least, most;
    const void *replaces; /* `to` of the option that this one takes the place of, or NULL */
};

/* Takes an option that has no rule: returns 1, 0 after a complaint, or -1 if it is unknown. */
typedef int option_other_fn(void *argument, const char *name);

/*
 * Reads all words, each an option with one dash or two; a value is behind a "=", or the next word.
 * `other`, unless NULL, takes those without a rule. Returns 1; 0 after a complaint; -1 after
 * --help, for which it prints the usage.
 */
int options_read(int argc, char **argv, const char *usage, const struct option_rule *rules,
                 option_other_fn *other, void *argument);

/* Cleanses and frees a secret. Takes NULL. */
void option_forget(char **secret);

/*
 * Reads a decimal number from `least` to `most`. Otherwise it says what is expected of the option,
 * written as "-iter " or "--threads=", and returns 0.
 */
int option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *number);

/* The same for bytes: k, K, M, G or T behind the number is a power of 1024. */
int option_bytes(const char *option, const char *text, uint64_t least, uint64_t most,
                 uint64_t *number);

#endif
