/*
 * The words behind a subcommand that has few options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/words.h"

#include <stdio.h>
#include <string.h>

#include "tool/common/message.h"
#include "tool/common/suggest.h"

int words_unknown(const char *dash, const struct suggestion *suggestion)
{
    if (suggestion->best == NULL)
        return complain("unknown option %s%s (see %s --help)", dash, suggestion->word, tool_name);
    return complain("unknown option %s%s; did you mean %s%s? (see %s --help)", dash,
                    suggestion->word, dash, suggestion->best, tool_name);
}

static const struct word *find(const struct word *known, const char *name, size_t bytes)
{
    for (; known->name != NULL; known++)
        if (strlen(known->name) == bytes && memcmp(known->name, name, bytes) == 0)
            return known;
    return NULL;
}

static int unknown(const struct word *known, const char *dash, char *name, size_t bytes)
{
    struct suggestion suggestion;
    name[bytes] = '\0';
    suggestion_begin(&suggestion, name);
    for (; known->name != NULL; known++)
        suggestion_try(&suggestion, known->name);
    suggestion_try(&suggestion, "help");
    return words_unknown(dash, &suggestion);
}

/* One option: how many words it takes, or 0. */
static int take(const struct word *known, const char *dash, char *name, char *next)
{
    size_t bytes = strcspn(name, "=");
    const char *value = name[bytes] == '=' ? name + bytes + 1 : NULL;
    const struct word *word = find(known, name, bytes);
    if (word == NULL)
        return unknown(known, dash, name, bytes);
    if (word->flag != NULL) {
        if (value != NULL)
            return complain("--%s: it takes no value", word->name);
        *word->flag = 1;
        return 1;
    }
    *word->value = value != NULL ? value : next;
    if (*word->value == NULL)
        return complain("--%s: its value is missing", word->name);
    return value != NULL ? 1 : 2;
}

int words_read(int argc, char **argv, const struct word *known, const char *usage)
{
    for (int i = 1, words; i < argc; i += words) {
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            return complain("unexpected argument \"%s\" (see %s --help)", argv[i], tool_name);
        const char *dash = argv[i][1] == '-' ? "--" : "-";
        char *name = argv[i] + strlen(dash);
        if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0) {
            (void)fputs(usage, stdout);
            return -1;
        }
        words = take(known, dash, name, i + 1 < argc ? argv[i + 1] : NULL);
        if (words == 0)
            return 0;
    }
    return 1;
}
