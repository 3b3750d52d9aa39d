/*
 * Options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/options.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/common/message.h"
#include "tool/common/suggest.h"

/* ---- Values ----------------------------------------------------------------------------- */

static int read_number(const char *text, uint64_t *number)
{
    static const char units[] = "kKMGT";
    static const unsigned shifts[] = {10, 10, 20, 30, 40};
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    unsigned shift = unit != NULL ? shifts[unit - units] : 0;
    if (errno != 0 || end[unit != NULL] != '\0' || n > UINT64_MAX >> shift)
        return 0;
    *number = (uint64_t)n << shift;
    return 1;
}

int option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *number)
{
    uint64_t n;
    if (!read_number(text, &n) || n < least || n > most)
        return complain("%s%s: expected a whole number from %llu to %llu%s", option, text,
                        (unsigned long long)least, (unsigned long long)most,
                        most < 1024 ? ""
                                    : "; K, M, G or T behind it are powers of 1024, as in 64K");
    *number = n;
    return 1;
}

void option_forget(char **secret)
{
    if (*secret != NULL)
        OPENSSL_clear_free(*secret, strlen(*secret));
    *secret = NULL;
}

/*
 * Other users can read the command line: a secret is taken off it at once, whether it will be used
 * or not, such as one of which there are two.
 */
static int take_secret(char **secret, char *value)
{
    option_forget(secret);
    *secret = OPENSSL_strdup(value);
    OPENSSL_cleanse(value, strlen(value));
    return *secret != NULL || complain("out of memory");
}

/* Takes the value of another text or secret away. */
static void replace(const struct option_rule *rules, const void *to)
{
    for (; to != NULL && rules->name != NULL; rules++)
        if (rules->to == to && rules->kind == OPTION_SECRET)
            option_forget(rules->to);
        else if (rules->to == to)
            *(const char **)rules->to = NULL;
}

static int take_value(const struct options *options, const struct option_rule *rule, char *value)
{
    char option[24];
    replace(options->rules, rule->replaces);
    if (rule->kind == OPTION_SECRET)
        return take_secret(rule->to, value);
    if (rule->kind == OPTION_TEXT) {
        *(const char **)rule->to = value;
        return 1;
    }
    (void)snprintf(option, sizeof option, "%s%s%c", options->dash, rule->name,
                   options->dash[1] == '-' ? '=' : ' ');
    return option_number(option, value, rule->least, rule->most, rule->to);
}

/* ---- Names ------------------------------------------------------------------------------ */

int options_unknown(const struct option_rule *rules, const char *const *others, const char *dash,
                    const char *name)
{
    struct suggestion suggestion;
    suggestion_begin(&suggestion, name);
    for (; rules->name != NULL; rules++)
        suggestion_try(&suggestion, rules->name);
    for (; others != NULL && *others != NULL; others++)
        suggestion_try(&suggestion, *others);
    suggestion_try(&suggestion, "help");
    if (suggestion.best == NULL)
        return complain("unknown option %s%s (see %s --help)", dash, name, tool_name);
    return complain("unknown option %s%s; did you mean %s%s? (see %s --help)", dash, name, dash,
                    suggestion.best, tool_name);
}

/* One option without its dashes: returns how many words it takes, or 0, or -1 as `other`. */
static int take(const struct options *o, const char *dash, char *name, char *next)
{
    char *equals = strchr(name, '=');
    if (equals != NULL)
        *equals = '\0';
    const struct option_rule *rule = o->rules;
    while (rule->name != NULL && strcmp(rule->name, name) != 0)
        rule++;
    int takes_value = rule->name != NULL && rule->kind != OPTION_SET && rule->kind != OPTION_CLEAR;
    int other = rule->name != NULL ? 1
                : o->other != NULL ? o->other(o->argument, name, equals != NULL)
                                   : options_unknown(o->rules, NULL, dash, name);
    if (other <= 0)
        return other;
    if (equals != NULL && !takes_value)
        return complain("%s%s: it takes no value", o->dash, name);
    if (takes_value && equals == NULL && next == NULL)
        return complain("%s%s: its value is missing", o->dash, name);
    if (takes_value)
        return take_value(o, rule, equals != NULL ? equals + 1 : next) ? 1 + (equals == NULL) : 0;
    if (rule->name != NULL)
        *(int *)rule->to = rule->kind == OPTION_SET;
    return 1;
}

int options_read(const struct options *options, int argc, char **argv)
{
    for (int i = 1, words; i < argc; i += words) {
        char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0' || strcmp(word, "--") == 0)
            return options->unexpected != NULL
                       ? complain("\"%s\": %s", word, options->unexpected)
                       : complain("unexpected argument \"%s\" (see %s --help)", word, tool_name);
        const char *dash = word[1] == '-' ? "--" : "-";
        char *name = word + strlen(dash);
        if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0) {
            (void)fputs(options->usage, stdout);
            return -1;
        }
        words = take(options, dash, name, i + 1 < argc ? argv[i + 1] : NULL);
        if (words <= 0)
            return words;
    }
    return 1;
}

int options_read_few(int argc, char **argv, const struct option_rule *rules, const char *usage)
{
    const struct options options = {usage, NULL, "--", rules, NULL, NULL};
    return options_read(&options, argc, argv);
}
