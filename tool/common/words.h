/*
 * The words behind a subcommand that has few options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_WORDS_H
#define GPUAES_TOOL_COMMON_WORDS_H

struct word {
    const char *name;   /* without the dashes; NULL ends a table */
    int *flag;          /* set to 1; or NULL, and the option has a value: */
    const char **value; /* behind a "=", or the next word */
};

/*
 * Reads all words: each is one of the options. Returns 1; 0 after a complaint about a wrong
 * word; -1 after --help, for which it prints the usage.
 */
int words_read(int argc, char **argv, const struct word *known, const char *usage);

/* Says that an option is unknown, and which one may be meant. `dash` is "-" or "--". Returns 0. */
struct suggestion;
int words_unknown(const char *dash, const struct suggestion *suggestion);

#endif
