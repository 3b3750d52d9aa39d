/*
 * The options of `gpuaes enc`.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/commands/enc_options.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tool/common/message.h"
#include "tool/common/number.h"
#include "tool/common/suggest.h"
#include "tool/common/words.h"
#include "tool/keys/ciphers.h"
#include "tool/pipeline/pipeline.h"

static const char help[] =
    "usage: gpuaes enc|dec -CIPHER [OPTION...]\n"
    "\n"
    "Encrypts or decrypts files. Options and file format are compatible with openssl enc.\n"
    "\n"
    "  -CIPHER             such as -aes-256-ctr, -aes-128-ecb, -aes-256-cbc\n"
    "  -e, -d              encrypt, decrypt; the last one counts\n"
    "  -in FILE            input (standard input)\n"
    "  -out FILE           output (standard output); appears when it is complete\n"
    "  -a, -base64         Base64 after encryption, or before decryption\n"
    "  -A                  the Base64 is one line\n"
    "  -nopad              no padding of the last block\n"
    "Keys from a password, which is asked for unless one of these says where it is:\n"
    "  -pass SOURCE        pass:PASSWORD, env:NAME, file:PATH, fd:NUMBER or stdin\n"
    "  -k PASSWORD, -kfile FILE\n"
    "  -pbkdf2, -iter N    PBKDF2 (10000 iterations, or N), as both sides should have it\n"
    "  -md DIGEST          of the derivation (sha256)\n"
    "  -salt, -nosalt      with a salt (the default), without\n"
    "  -saltlen N          bytes of the salt with PBKDF2, up to 16 (8); both sides need the same\n"
    "  -S HEX              this salt, which then is not written to the output\n"
    "Keys as they are:\n"
    "  -K HEX, -iv HEX\n"
    "  -p, -P              print salt, key and IV; -P does nothing else\n"
    "  -rand FILES         add these files to the random number generator, for the salt\n"
    "  -writerand FILE     write random bytes to this file, for a later -rand\n"
    "Parts of a stream; see docs/shards.md:\n"
    "  --offset N          begin at this byte (K, M, G: powers of 1024)\n"
    "  --length N          so many bytes\n"
    "  --piece             the input is that part alone, not the whole (CTR)\n"
    "How:\n"
    "  --threads N         that read, work and write (the CPUs, 8 at most)\n"
    "  -bufsize N          bytes of a piece (2M)\n"
    "  --sync              wait until the output is on the disk\n"
    "  --progress, --no-progress   always / never show progress (default: only if stderr\n"
    "                      is a terminal)\n"
    "  -v                  say how much was read and written, and by whom encrypted\n"
    "  -list, -ciphers     print the names of all ciphers, and do nothing else\n";

/* ---- The table ------------------------------------------------------------------------- */

enum kind { FLAG, FLAG_OFF, TEXT, SECRET, NUMBER_INT, NUMBER_64, NUMBER_SIZE, NUMBER_THREADS };

struct rule {
    const char *name;
    enum kind kind;
    size_t at; /* in struct enc_options */
};
#define AT(member) offsetof(struct enc_options, member)

static const struct rule rules[] = {
    {"e", FLAG_OFF, AT(decrypt)},
    {"d", FLAG, AT(decrypt)},
    {"in", TEXT, AT(in)},
    {"out", TEXT, AT(out)},
    {"a", FLAG, AT(base64)},
    {"base64", FLAG, AT(base64)},
    {"A", FLAG, AT(one_line)},
    {"nopad", FLAG, AT(no_padding)},
    {"pass", SECRET, AT(pass)},
    {"k", SECRET, AT(password)},
    {"kfile", TEXT, AT(key_file)},
    {"pbkdf2", FLAG, AT(pbkdf2)},
    {"iter", NUMBER_INT, AT(iterations)},
    {"md", TEXT, AT(md)},
    {"salt", FLAG_OFF, AT(no_salt)},
    {"nosalt", FLAG, AT(no_salt)},
    {"S", SECRET, AT(salt)},
    {"saltlen", NUMBER_INT, AT(salt_bytes)},
    {"rand", TEXT, AT(random_files)},
    {"writerand", TEXT, AT(write_random)},
    {"K", SECRET, AT(key)},
    {"iv", TEXT, AT(iv)},
    {"p", FLAG, AT(print)},
    {"P", FLAG, AT(print_only)},
    {"v", FLAG, AT(verbose)},
    {"bufsize", NUMBER_SIZE, AT(piece)},
    {"offset", NUMBER_64, AT(offset)},
    {"length", NUMBER_64, AT(length)},
    {"piece", FLAG, AT(is_piece)},
    {"threads", NUMBER_THREADS, AT(threads)},
    {"sync", FLAG, AT(sync)},
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* ---- Values ---------------------------------------------------------------------------- */

static int read_number(const struct rule *rule, const char *value, uint64_t least, uint64_t most,
                       uint64_t *number)
{
    char option[24];
    (void)snprintf(option, sizeof option, "-%s ", rule->name);
    return number_read_option(option, value, least, most, number);
}

static void forget(char **secret)
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
    forget(secret);
    *secret = OPENSSL_strdup(value);
    OPENSSL_cleanse(value, strlen(value));
    return *secret != NULL || complain("out of memory");
}

void enc_options_forget(struct enc_options *options)
{
    for (int i = 0; i < RULES; i++)
        if (rules[i].kind == SECRET)
            forget((char **)(void *)((char *)options + rules[i].at));
}

static int take_value(struct enc_options *options, const struct rule *rule, char *value)
{
    void *member = (char *)options + rule->at;
    uint64_t n;
    /* These say the same thing: the last one counts. */
    if (rule->at == AT(password))
        options->key_file = NULL;
    if (rule->at == AT(key_file))
        forget(&options->password);
    switch (rule->kind) {
    case TEXT:
        *(const char **)member = value;
        return 1;
    case SECRET:
        return take_secret(member, value);
    case NUMBER_INT:
        if (!read_number(rule, value, 1, 0x7fffffff, &n))
            return 0;
        *(int *)member = (int)n;
        return 1;
    case NUMBER_THREADS:
        if (!read_number(rule, value, 1, PIPELINE_THREADS, &n))
            return 0;
        *(unsigned *)member = (unsigned)n;
        return 1;
    case NUMBER_SIZE:
        if (!read_number(rule, value, 0, (uint64_t)1 << 29, &n))
            return 0;
        *(size_t *)member = (size_t)n;
        return 1;
    default:
        options->is_shard = 1;
        return read_number(rule, value, 0, INT64_MAX, (uint64_t *)member);
    }
}

/* ---- Words without a rule ---------------------------------------------------------------- */

static const char opaque[] = "keys that stay inside their provider are not supported; use -K, or "
                             "a password";

/* Options of openssl enc that are not here, and why. */
static const struct absent {
    const char *name, *why;
} absent[] = {
    {"none", "there would be nothing to encrypt; for Base64 alone use gpuaes base64"},
    {"z", "zlib compression is not supported; compress before, as with gzip or zstd"},
    {"engine", "engines are not supported"},
    {"provider", "the command uses OpenSSL's default provider and gpuaes only"},
    {"provider-path", "the folder of gpuaes.so is named by OPENSSL_MODULES in the environment"},
    {"provparam", "the settings of gpuaes are GPUAES_... in the environment"},
    {"propquery", "the command uses OpenSSL's default provider and gpuaes only"},
    {"skeyopt", opaque},
    {"skeymgmt", opaque},
    {"skeyuri", opaque},
    {"debug", "OpenSSL's debugging output is not supported"},
};
enum { ABSENT = sizeof absent / sizeof absent[0] };

static int unknown_option(const char *name)
{
    static const char *const others[] = {"progress",    "no-progress", "help",        "list",
                                         "aes-256-ctr", "aes-192-ctr", "aes-128-ctr", "aes-256-cbc",
                                         "aes-192-cbc", "aes-128-cbc", "aes-256-ecb", "aes-192-ecb",
                                         "aes-128-ecb"};
    struct suggestion suggestion;
    suggestion_begin(&suggestion, name);
    for (int i = 0; i < RULES; i++)
        suggestion_try(&suggestion, rules[i].name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        suggestion_try(&suggestion, others[i]);
    return words_unknown("-", &suggestion);
}

static int take_other(struct enc_options *options, const char *name)
{
    if (strcmp(name, "progress") == 0 || strcmp(name, "no-progress") == 0) {
        options->progress = name[0] == 'p' ? PROGRESS_ALWAYS : PROGRESS_NEVER;
        return 1;
    }
    for (int i = 0; i < ABSENT; i++)
        if (strcmp(name, absent[i].name) == 0)
            return complain("-%s: %s", name, absent[i].why);
    if (!ciphers_has(name))
        return unknown_option(name);
    if (options->cipher != NULL && strcmp(options->cipher, name) != 0)
        return complain("-%s: expected one cipher, but -%s is given already", name,
                        options->cipher);
    options->cipher = name;
    return 1;
}

static const struct rule *find_rule(const char *name)
{
    for (int i = 0; i < RULES; i++)
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}

/*
 * One option, with its value if it has one: behind a "=", or the next word. How many words
 * that was, or 0.
 */
static int take_option(struct enc_options *options, char *name, char *next)
{
    char *equals = strchr(name, '=');
    if (equals != NULL)
        *equals = '\0';
    const struct rule *rule = find_rule(name);
    int takes_value = rule != NULL && rule->kind != FLAG && rule->kind != FLAG_OFF;
    if (rule == NULL && !take_other(options, name))
        return 0;
    if (equals != NULL && !takes_value)
        return complain("-%s: it takes no value", name);
    if (rule == NULL)
        return 1;
    if (!takes_value) {
        *(int *)((char *)options + rule->at) = rule->kind == FLAG;
        return 1;
    }
    if (equals != NULL)
        return take_value(options, rule, equals + 1);
    if (next == NULL)
        return complain("-%s: its value is missing", name);
    return take_value(options, rule, next) ? 2 : 0;
}

int enc_options_read(struct enc_options *options, int argc, char **argv)
{
    options->length = UINT64_MAX;
    for (int i = 1, words; i < argc; i += words) {
        char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0' || strcmp(word, "--") == 0)
            return complain("\"%s\": expected an option; a file is named by -in or -out", word);
        char *name = word + (word[1] == '-' ? 2 : 1);
        if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0) {
            (void)fputs(help, stdout);
            return -1;
        }
        if (strcmp(name, "list") == 0 || strcmp(name, "ciphers") == 0) {
            ciphers_print();
            return -1;
        }
        words = take_option(options, name, i + 1 < argc ? argv[i + 1] : NULL);
        if (words == 0)
            return 0;
    }
    if (options->cipher == NULL)
        return complain("which cipher? Expected one such as -aes-256-ctr (-list shows all); for "
                        "Base64 alone there is gpuaes base64");
    if (options->iterations != 0)
        options->pbkdf2 = 1;
    return 1;
}
