/*
 * The settings: reading and checking them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "provider/common/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cuda/gpuaes.h"

#define MIB ((uint64_t)1 << 20)
#define READ_AHEAD_DEFAULT UINT64_MAX

enum { DEVICES_MOST = 64, THREADS_MOST = 64 };

/* settings_read() has a line for each. */
static const char *const keys[SETTINGS_KEYS] = {
    "policy",  "start",        "start-bytes",      "idle-seconds", "min-bytes", "devices",
    "threads", "pinned-bytes", "read-ahead-bytes", "timeout-ms",   "log",
};

/* What OpenSSL itself reads in a provider's section; see config(5). */
static const char *const openssl_keys[] = {"identity", "module", "activate", "soft_load"};

static const char variable_prefix[] = "GPUAES_";

/* How entries of the environment begin that are no settings: libgpuaes, the Python package and the
 * tests read them. */
static const char *const other_variables[] = {
    "GPUAES_KERNEL=", "GPUAES_IMAGE=", "GPUAES_EMULATOR=", "GPUAES_LIBRARY=", "GPUAES_TEST_"};

/* The beginning of a text, and what a terminal might obey or a log take for a line as '?'. */
static void show(char *text, size_t size, const char *value)
{
    size_t n = 0;
    for (; value[n] != '\0' && n + 4 < size; n++)
        text[n] = value[n];
    for (size_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~')
            text[i] = '?';
    (void)snprintf(text + n, size - n, "%s", value[n] != '\0' ? "..." : "");
}

void settings_variable(const char *key, char name[SETTINGS_TEXT])
{
    size_t at = strlen(variable_prefix);
    memcpy(name, variable_prefix, at);
    for (; *key != '\0' && at + 1 < SETTINGS_TEXT; key++, at++)
        name[at] = (char)(*key == '-' ? '_' : *key >= 'a' && *key <= 'z' ? *key - 'a' + 'A' : *key);
    name[at] = '\0';
}

/* ---- Values -------------------------------------------------------------------------------- */

struct reader {
    settings_find_fn *find;
    const void *arg;
    struct settings_fault *faults;
    unsigned count; /* of faults */
};

static const char *find_value(const struct reader *reader, const char *key)
{
    char name[SETTINGS_TEXT];
    settings_variable(key, name);
    const char *value = secure_getenv(name);
    return value != NULL || reader->find == NULL ? value : reader->find(reader->arg, key);
}

static void refuse(struct reader *reader, const char *key, const char *value, const char *expected)
{
    struct settings_fault *fault = &reader->faults[reader->count++];
    fault->key = key;
    show(fault->value, sizeof fault->value, value);
    (void)snprintf(fault->expected, sizeof fault->expected, "%s", expected);
}

/* One of `words` (ended by NULL); its index goes to *choice. */
static void read_word(struct reader *reader, const char *key, const char *const *words,
                      const char *expected, int *choice)
{
    const char *value = find_value(reader, key);
    if (value == NULL)
        return;
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(value, words[i]) == 0) {
            *choice = i;
            return;
        }
    refuse(reader, key, value, expected);
}

int settings_number(const char *text, const char *units, uint64_t *number)
{
    static const unsigned shifts[] = {['k'] = 10, ['K'] = 10, ['M'] = 20, ['G'] = 30, ['T'] = 40};
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    int has_unit = *end != '\0' && strchr(units, *end) != NULL;
    unsigned shift = has_unit ? shifts[(unsigned char)*end] : 0;
    if (errno != 0 || end[has_unit] != '\0' || n > UINT64_MAX >> shift)
        return 0;
    *number = (uint64_t)n << shift;
    return 1;
}

/* A number; or `word`, where there is one, which leaves *number as it is. */
static void read_number(struct reader *reader, const char *key, const char *word, uint64_t least,
                        uint64_t most, uint64_t *number)
{
    const char *value = find_value(reader, key);
    char expected[sizeof reader->faults->expected];
    uint64_t n;
    if (value == NULL || (word != NULL && strcmp(value, word) == 0))
        return;
    if (settings_number(value, "KMGT", &n) && n >= least && n <= most) {
        *number = n;
        return;
    }
    int at = word == NULL ? 0 : snprintf(expected, sizeof expected, "\"%s\" or ", word);
    if (most >= SIZE_MAX - 1)
        at += snprintf(expected + at, sizeof expected - (size_t)at, "a number of bytes");
    else
        at += snprintf(expected + at, sizeof expected - (size_t)at, "a number from %llu to %llu",
                       (unsigned long long)least, (unsigned long long)most);
    if (strstr(key, "-bytes") != NULL)
        (void)snprintf(expected + at, sizeof expected - (size_t)at,
                       "; K, M, G or T behind it are powers of 1024");
    refuse(reader, key, value, expected);
}

/* Ordinals with commas between them, each a bit. 0 if it is no such list. */
static int parse_ordinals(const char *text, uint64_t *devices)
{
    uint64_t found = 0;
    for (;;) {
        unsigned ordinal = 0;
        const char *begin = text;
        for (; *text >= '0' && *text <= '9' && text - begin < 2; text++)
            ordinal = ordinal * 10 + (unsigned)(*text - '0');
        if (text == begin || ordinal >= DEVICES_MOST)
            return 0;
        found |= (uint64_t)1 << ordinal;
        if (*text == '\0')
            break;
        if (*text++ != ',')
            return 0;
    }
    *devices = found;
    return 1;
}

static void read_devices(struct reader *reader, uint64_t *devices)
{
    const char *value = find_value(reader, "devices");
    if (value == NULL || parse_ordinals(value, devices))
        return;
    if (strcmp(value, "all") == 0)
        *devices = GPUAES_ALL_DEVICES;
    else
        refuse(reader, "devices", value,
               "\"all\" or numbers of CUDA devices from 0 to 63, such as \"0\" or \"0,2\"");
}

unsigned settings_read(struct settings *settings, settings_find_fn *find, const void *arg,
                       struct settings_fault faults[SETTINGS_KEYS])
{
    static const char *const policies[] = {"auto", "gpu", "cpu", NULL};
    static const char *const starts[] = {"auto", "eager", "never", NULL};
    static const char *const logs[] = {"off", "summary", "progress", "debug", NULL};
    struct reader reader = {.find = find, .arg = arg, .faults = faults};
    int policy = POLICY_AUTO, start = START_AUTO, log = LOG_OFF;
    uint64_t start_bytes = 128 * MIB, min_bytes = MIN_BYTES_AUTO, most_bytes = (uint64_t)1 << 40;
    uint64_t pinned_bytes = 0, read_ahead_bytes = READ_AHEAD_DEFAULT, timeout_ms = 0;
    uint64_t idle_seconds = GPUAES_IDLE_DEFAULT, devices = 0, threads = 0;

    read_word(&reader, "policy", policies, "auto, gpu or cpu", &policy);
    read_word(&reader, "start", starts, "auto, eager or never", &start);
    read_word(&reader, "log", logs, "off, summary, progress or debug", &log);
    read_number(&reader, "start-bytes", NULL, 0, UINT64_MAX, &start_bytes);
    read_number(&reader, "pinned-bytes", NULL, MIB, most_bytes, &pinned_bytes);
    read_number(&reader, "read-ahead-bytes", NULL, 0, most_bytes, &read_ahead_bytes);
    read_number(&reader, "idle-seconds", NULL, 0, 1000000000, &idle_seconds);
    read_number(&reader, "timeout-ms", NULL, 1, 3600000, &timeout_ms);
    read_number(&reader, "threads", "auto", 1, THREADS_MOST, &threads);
    read_devices(&reader, &devices);
    read_number(&reader, "min-bytes", "auto", 0, MIN_BYTES_AUTO - 1, &min_bytes);
    if (reader.count != 0)
        return reader.count;
    *settings = (struct settings){
        .policy = (enum policy_setting)policy,
        .start = (enum start_setting)start,
        .log = (enum log_setting)log,
        .start_bytes = start_bytes,
        .min_bytes = (size_t)min_bytes,
        .reads_ahead = read_ahead_bytes != 0,
        .process = {.struct_bytes = sizeof settings->process,
                    .pinned_bytes = (size_t)pinned_bytes,
                    .read_ahead_bytes =
                        read_ahead_bytes == READ_AHEAD_DEFAULT ? 0 : (size_t)read_ahead_bytes,
                    .timeout_ms = (unsigned)timeout_ms,
                    .idle_seconds = (unsigned)idle_seconds,
                    .threads = (unsigned)threads,
                    .devices = devices},
    };
    return 0;
}

/* ---- Names --------------------------------------------------------------------------------- */

static int is_one_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

static void say_unknown(const char *name, const char *where, char sentence[SETTINGS_TEXT])
{
    char shown[64];
    show(shown, sizeof shown, name);
    (void)snprintf(sentence, SETTINGS_TEXT,
                   "%s%s is unknown (provider-gpuaes(7) lists the settings)", shown, where);
}

int settings_is_unknown(const char *name, char sentence[SETTINGS_TEXT])
{
    const char *dot = strchr(name, '.'); /* OpenSSL takes "1.activate" for "activate" */
    if (is_one_of(keys, SETTINGS_KEYS, name) ||
        is_one_of(openssl_keys, sizeof openssl_keys / sizeof openssl_keys[0],
                  dot != NULL ? dot + 1 : name))
        return 0;
    say_unknown(name, "", sentence);
    return 1;
}

/* The sentence about one entry of the environment, if there is anything to say of it. */
static int is_unknown_variable(const char *entry, char sentence[SETTINGS_TEXT])
{
    char name[SETTINGS_TEXT], known[SETTINGS_TEXT];
    const char *end = strchr(entry, '=');
    if (end == NULL || strncmp(entry, variable_prefix, strlen(variable_prefix)) != 0)
        return 0;
    for (size_t i = 0; i < sizeof other_variables / sizeof other_variables[0]; i++)
        if (strncmp(entry, other_variables[i], strlen(other_variables[i])) == 0)
            return 0;
    (void)snprintf(name, sizeof name, "%.*s", (int)(end - entry), entry);
    for (size_t i = 0; i < SETTINGS_KEYS; i++) {
        settings_variable(keys[i], known);
        if (strcmp(known, name) == 0)
            return 0;
    }
    say_unknown(name, " in the environment", sentence);
    return 1;
}

int settings_unknown_variable(size_t *next, char sentence[SETTINGS_TEXT])
{
    if (environ == NULL || getauxval(AT_SECURE) != 0) /* there it does not count */
        return 0;
    while (environ[*next] != NULL)
        if (is_unknown_variable(environ[(*next)++], sentence))
            return 1;
    return 0;
}
