/*
 * Options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/options.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "provider/common/settings.h"
#include "tool/common/message.h"

static int read_number(const char *option, const char *text, const char *units, uint64_t least,
                       uint64_t most, uint64_t *number)
{
    uint64_t n;
    if (settings_number(text, units, &n) && n >= least && n <= most) {
        *number = n;
        return 1;
    }
    return complain("%s%s: expected a whole number from %llu to %llu%s", option, text,
                    (unsigned long long)least, (unsigned long long)most,
                    units[0] == '\0' ? ""
                                     : "; K, M, G or T behind it are powers of 1024, as in 64K");
}

int option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *number)
{
    return read_number(option, text, "", least, most, number);
}

int option_bytes(const char *option, const char *text, uint64_t least, uint64_t most,
                 uint64_t *number)
{
    return read_number(option, text, "kKMGT", least, most, number);
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

/* `equals` is the value behind "=", `next` the next word; either may be NULL. */
static int take(const struct option_rule *rules, const struct option_rule *rule, const char *word,
                char *equals, char *next)
{
    char option[24], *value = equals != NULL ? equals : next;
    if (rule->kind == OPTION_FLAG && equals != NULL)
        return complain("%s: it takes no value", word);
    if (rule->kind != OPTION_FLAG && value == NULL)
        return complain("%s: its value is missing", word);
    replace(rules, rule->replaces);
    switch (rule->kind) {
    case OPTION_FLAG:
        *(int *)rule->to = (int)rule->least;
        return 1;
    case OPTION_TEXT:
        *(const char **)rule->to = value;
        return 1;
    case OPTION_SECRET:
        return take_secret(rule->to, value);
    default:
        (void)snprintf(option, sizeof option, "%s%c", word, equals != NULL ? '=' : ' ');
        return (rule->kind == OPTION_BYTES ? option_bytes : option_number)(
            option, value, rule->least, rule->most, rule->to);
    }
}

int options_read(int argc, char **argv, const char *usage, const struct option_rule *rules,
                 option_other_fn *other, void *argument)
{
    for (int i = 1; i < argc; i++) {
        char *word = argv[i], *name = word + (word[0] == '-') + (strncmp(word, "--", 2) == 0);
        if (name == word || *name == '\0')
            return complain("\"%s\": expected an option (see %s --help)", word, tool_name);
        if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0) {
            (void)fputs(usage, stdout);
            return -1;
        }
        char *equals = strchr(name, '=');
        if (equals != NULL)
            *equals++ = '\0';
        const struct option_rule *rule = rules;
        while (rule->name != NULL && strcmp(rule->name, name) != 0)
            rule++;
        int taken = rule->name != NULL ? take(rules, rule, word, equals, argv[i + 1])
                    : other != NULL    ? other(argument, name)
                                       : -1;
        if (taken <= 0)
            return taken == 0 ? 0 : complain("unknown option %s (see %s --help)", word, tool_name);
        if (rule->name == NULL && equals != NULL)
            return complain("%s: it takes no value", word);
        i += rule->name != NULL && rule->kind != OPTION_FLAG && equals == NULL;
    }
    return 1;
}
