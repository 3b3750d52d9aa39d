/*
 * Reading and checking the knobs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/gpuaes.h"
#include "errors.h"
#include "provider.h"

#define MIB ((uint64_t)1 << 20)

enum { VALUE_SIZE = 64, NAME_SIZE = 32, DEVICES_MOST = 64, THREADS_MOST = 64 };

/* The beginning of a value, and what a terminal might obey or a log take for a line as '?'. */
static void show(char text[VALUE_SIZE], const char *value)
{
    size_t n = 0;
    for (; value[n] != '\0' && n + 4 < VALUE_SIZE; n++)
        text[n] = value[n];
    for (size_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~')
            text[i] = '?';
    (void)snprintf(text + n, VALUE_SIZE - n, "%s", value[n] != '\0' ? "..." : "");
}

/* Says why a value is refused, to the application and to whoever reads stderr. */
static int refuse(const struct provider *provider, const char *key, const char *value,
                  const char *expected)
{
    char shown[VALUE_SIZE];
    show(shown, value);
    (void)fprintf(stderr, "gpuaes: setting %s has the value \"%s\", expected %s\n", key, shown,
                  expected);
    error_raise(provider, ERROR_BAD_SETTING, "%s has the value \"%s\", expected %s", key, shown,
                expected);
    return 0;
}

/* The value of a key, or NULL: the environment wins over the configuration. */
static const char *find(const struct provider *provider, const char *key)
{
    char name[NAME_SIZE] = "GPUAES_";
    size_t at = strlen(name);
    for (const char *k = key; *k != '\0' && at + 1 < sizeof name; k++, at++)
        name[at] = (char)(*k == '-' ? '_' : *k >= 'a' && *k <= 'z' ? *k - 'a' + 'A' : *k);
    name[at] = '\0';
    const char *value = secure_getenv(name);
    if (value != NULL)
        return value;

    char *configured = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(key, &configured, 0),
                           OSSL_PARAM_construct_end()};
    if (provider->get_params == NULL || !provider->get_params(provider->core, params))
        return NULL;
    return configured;
}

/* One of `words` (ended by NULL); its index goes to *choice. */
static int read_word(const struct provider *provider, const char *key, const char *const *words,
                     const char *expected, int *choice)
{
    const char *value = find(provider, key);
    if (value == NULL)
        return 1;
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(value, words[i]) == 0) {
            *choice = i;
            return 1;
        }
    return refuse(provider, key, value, expected);
}

/* A decimal number with an optional K, M or G (powers of 1024). 0 if it is none. */
static int parse_number(const char *text, uint64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0)
        return 0;
    unsigned shift = 0;
    if (*end == 'K' || *end == 'M' || *end == 'G')
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
    if (shift != 0)
        end++;
    if (*end != '\0' || n > UINT64_MAX >> shift)
        return 0;
    *number = (uint64_t)n << shift;
    return 1;
}

static int read_number(const struct provider *provider, const char *key, uint64_t least,
                       uint64_t most, uint64_t *number)
{
    const char *value = find(provider, key);
    if (value == NULL)
        return 1;
    uint64_t n;
    if (parse_number(value, &n) && n >= least && n <= most) {
        *number = n;
        return 1;
    }
    char expected[VALUE_SIZE];
    (void)snprintf(expected, sizeof expected, "a number from %llu to %llu",
                   (unsigned long long)least, (unsigned long long)most);
    return refuse(provider, key, value, expected);
}

static int read_min_bytes(const struct provider *provider, size_t *min_bytes)
{
    const char *value = find(provider, "min-bytes");
    uint64_t n;
    if (value == NULL || strcmp(value, "auto") == 0)
        return 1;
    if (!parse_number(value, &n) || n >= MIN_BYTES_AUTO)
        return refuse(provider, "min-bytes", value, "\"auto\" or a number of bytes");
    *min_bytes = (size_t)n;
    return 1;
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

static int read_devices(const struct provider *provider, uint64_t *devices)
{
    const char *value = find(provider, "devices");
    if (value == NULL || parse_ordinals(value, devices))
        return 1;
    if (strcmp(value, "all") != 0)
        return refuse(provider, "devices", value,
                      "\"all\" or numbers of CUDA devices such as \"0\" or \"0,2\"");
    *devices = GPUAES_ALL_DEVICES;
    return 1;
}

int config_read(struct provider *provider)
{
    static const char *const engines[] = {"auto", "gpu", "cpu", NULL};
    static const char *const starts[] = {"auto", "eager", "never", NULL};
    static const char *const logs[] = {"off", "summary", "debug", NULL};
    int engine = ENGINE_AUTO, start = START_AUTO, log = LOG_OFF;
    uint64_t start_bytes = 128 * MIB, pinned_bytes = 256 * MIB, read_ahead_bytes = 64 * MIB;
    uint64_t idle_seconds = 60, timeout_ms = 10000, batch_wait_us = 0, threads = 1, devices = 1;
    size_t min_bytes = MIN_BYTES_AUTO;

    if (!read_word(provider, "engine", engines, "auto, gpu or cpu", &engine) ||
        !read_word(provider, "start", starts, "auto, eager or never", &start) ||
        !read_word(provider, "log", logs, "off, summary or debug", &log) ||
        !read_number(provider, "start-bytes", 0, UINT64_MAX, &start_bytes) ||
        !read_number(provider, "pinned-bytes", MIB, (uint64_t)1 << 40, &pinned_bytes) ||
        !read_number(provider, "read-ahead-bytes", 0, (uint64_t)1 << 40, &read_ahead_bytes) ||
        !read_number(provider, "idle-seconds", 0, 1000000000, &idle_seconds) ||
        !read_number(provider, "batch-wait-us", 0, 1000000, &batch_wait_us) ||
        !read_number(provider, "timeout-ms", 1, 3600000, &timeout_ms) ||
        !read_number(provider, "threads", 1, THREADS_MOST, &threads) ||
        !read_devices(provider, &devices) || !read_min_bytes(provider, &min_bytes))
        return 0;
    provider->settings = (struct settings){
        .engine = (enum engine_setting)engine,
        .start = (enum start_setting)start,
        .log = (enum log_setting)log,
        .start_bytes = start_bytes,
        .min_bytes = min_bytes,
        .pinned_bytes = (size_t)pinned_bytes,
        .read_ahead_bytes = (size_t)read_ahead_bytes,
        .timeout_ms = (unsigned)timeout_ms,
        .idle_seconds = (unsigned)idle_seconds,
        .batch_wait_us = (unsigned)batch_wait_us,
        .threads = (unsigned)threads,
        .devices = devices,
    };
    return 1;
}
