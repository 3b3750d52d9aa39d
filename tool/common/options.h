/*
 * Options: tables of them, their values, and what an unknown one may mean.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_OPTIONS_H
#define GPUAES_TOOL_COMMON_OPTIONS_H

#include <stdint.h>

/* What `to` of an option points to, and gets. */
enum option_kind {
    OPTION_SET,    /* int: 1 */
    OPTION_CLEAR,  /* int: 0 */
    OPTION_TEXT,   /* const char *: the value, which stays in argv */
    OPTION_SECRET, /* char *: a copy, for option_forget(); the value in argv is cleansed */
    OPTION_NUMBER  /* uint64_t from `least` to `most` */
};
struct option_rule {
    const char *name; /* without dashes; NULL ends a table */
    enum option_kind kind;
    void *to;
    uint64_t least, most;
    const void *replaces; /* `to` of the option that this one takes the place of, or NULL */
};

struct options {
    const char *usage;
    const char *unexpected; /* said of a word that is no option; NULL: that it is unexpected */
    const char *dash;       /* that messages write before names */
    const struct option_rule *rules;
    /*
     * Takes an option without a rule, which has a value behind "=" or not: returns 1, 0 after a
     * complaint, or -1 to end the reading without one. NULL: there are no others.
     */
    int (*other)(void *argument, const char *name, int has_value);
    void *argument;
};

/*
 * Reads all words, each an option with one dash or two; a value is behind a "=", or the next word.
 * Returns 1; 0 after a complaint; -1 after --help, for which it prints the usage.
 */
int options_read(const struct options *options, int argc, char **argv);

/* The same for a subcommand that has few options, written with two dashes. */
int options_read_few(int argc, char **argv, const struct option_rule *rules, const char *usage);

/*
 * Says that an option is unknown, and which rule, or name of `others`, which NULL ends, may be
 * meant. Returns 0.
 */
int options_unknown(const struct option_rule *rules, const char *const *others, const char *dash,
                    const char *name);

/* Cleanses and frees a secret. Takes NULL. */
void option_forget(char **secret);

/*
 * Reads a decimal number with an optional k, K, M, G or T, powers of 1024, from `least` to `most`.
 * Otherwise it says what is expected of the option, written as "-bufsize " or "--threads=", and
 * returns 0.
 */
int option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *number);

#endif
