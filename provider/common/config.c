/*
 * Reading the settings of a library context.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/config.h"

#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda/gpuaes.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"

/* Tells the application, and the reader of stderr, why the provider does not load. */
static int refuse(const struct provider *provider, const char *sentence)
{
    (void)fprintf(stderr, "gpuaes: setting %s\n", sentence);
    error_raise(provider, ERROR_BAD_SETTING, "%s", sentence);
    return 0;
}

/* ---- Values -------------------------------------------------------------------------------- */

/* A settings_find_fn: the value of a line of the provider's section, or NULL. */
static const char *configured(const void *arg, const char *key)
{
    const struct provider *provider = arg;
    char *value = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(key, &value, 0),
                           OSSL_PARAM_construct_end()};
    return provider->get_params(provider->core, params) ? value : NULL;
}

static int read_values(struct provider *provider)
{
    struct settings_fault faults[SETTINGS_KEYS];
    char sentence[SETTINGS_TEXT];
    if (settings_read(&provider->settings, configured, provider, faults) == 0)
        return 1;
    (void)snprintf(sentence, sizeof sentence, "%s has the value \"%s\", expected %s", faults[0].key,
                   faults[0].value, faults[0].expected);
    return refuse(provider, sentence);
}

/* ---- Unknown names ------------------------------------------------------------------------- */

/*
 * The core tells the value of a name, but not which names there are. Those come from the
 * configuration file, which is read once more, and the core tells which of them it has for us:
 * so a file that did not configure this provider does no harm.
 */
static int check_name(const struct provider *provider, const char *name)
{
    char sentence[SETTINGS_TEXT];
    if (!settings_is_unknown(name, sentence) || configured(provider, name) == NULL)
        return 1;
    return refuse(provider, sentence);
}

/* A line that names a section is for OpenSSL as many lines, NAME.LINE; gpuaes has no such. */
static int check_section(const struct provider *provider, const CONF *conf, const char *section,
                         const char *prefix)
{
    char name[SETTINGS_TEXT];
    const STACK_OF(CONF_VALUE) *lines = NCONF_get_section(conf, section);
    for (int i = 0; i < sk_CONF_VALUE_num(lines); i++) {
        const CONF_VALUE *line = sk_CONF_VALUE_value(lines, i);
        (void)snprintf(name, sizeof name, "%s%s", prefix, line->name);
        if (!check_name(provider, name))
            return 0;
        (void)snprintf(name, sizeof name, "%s.", line->name);
        if (prefix[0] == '\0' && !check_section(provider, conf, line->value, name))
            return 0;
    }
    return 1;
}

/*
 * A line of [default] names the section where OpenSSL starts (the application chooses which), a
 * line there the list of providers, and a line of that a provider's section. All that may be one
 * are looked at.
 */
static int check_below(const struct provider *provider, const CONF *conf, const char *section,
                       int depth)
{
    const STACK_OF(CONF_VALUE) *lines = NCONF_get_section(conf, section);
    if (depth == 0)
        return check_section(provider, conf, section, "");
    for (int i = 0; i < sk_CONF_VALUE_num(lines); i++)
        if (!check_below(provider, conf, sk_CONF_VALUE_value(lines, i)->value, depth - 1))
            return 0;
    return 1;
}

/* Only a regular file is read again: a pipe would have nothing more to give, or block. */
static int check_names(const struct provider *provider)
{
    struct stat status;
    int known = 1;
    char *path = CONF_get1_default_config_file();
    CONF *conf = NULL;
    (void)ERR_set_mark();
    if (path != NULL && stat(path, &status) == 0 && S_ISREG(status.st_mode))
        conf = NCONF_new(NULL);
    int is_read = conf != NULL && NCONF_load(conf, path, NULL) > 0;
    (void)ERR_pop_to_mark();
    if (is_read)
        known = check_below(provider, conf, "default", 3);
    NCONF_free(conf);
    OPENSSL_free(path);
    return known;
}

static void warn_of_variables(void)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    char sentence[SETTINGS_TEXT];
    if (atomic_flag_test_and_set(&warned))
        return;
    for (size_t next = 0; settings_unknown_variable(&next, sentence);)
        (void)fprintf(stderr, "gpuaes: %s\n", sentence);
}

/* ---- Settings of the process --------------------------------------------------------------- */

/* All library contexts have the same GPUs, with the same of these. `unset` is no wish. */
struct shared {
    const char *key;
    uint64_t wanted, unset, is;
};

/* A number, or CUDA devices as in the setting. */
static void describe(const char *key, uint64_t value, char text[SETTINGS_TEXT])
{
    size_t at = 0;
    if (strcmp(key, "devices") != 0 || value == GPUAES_ALL_DEVICES) {
        (void)snprintf(text, SETTINGS_TEXT, value == GPUAES_ALL_DEVICES ? "all" : "%llu",
                       (unsigned long long)value);
        return;
    }
    for (unsigned n = 0; n < 64; n++)
        if ((value >> n & 1) != 0 && at + 4 < SETTINGS_TEXT)
            at += (size_t)snprintf(text + at, SETTINGS_TEXT - at, "%s%u", at == 0 ? "" : ",", n);
}

static void compare(const struct shared *s, char sentence[2 * SETTINGS_TEXT])
{
    char wanted[SETTINGS_TEXT], is[SETTINGS_TEXT];
    describe(s->key, s->wanted, wanted);
    describe(s->key, s->is, is);
    (void)snprintf(sentence, 2 * SETTINGS_TEXT,
                   "%s has the value \"%.48s\", but the GPUs of this process work with %.48s, "
                   "which was set before in another library context or by the application",
                   s->key, wanted, is);
}

/* Once for each key: an application may make library contexts by the thousand. */
static void warn_of_differences(const struct shared *shared, size_t count)
{
    static atomic_uint warned;
    char sentence[2 * SETTINGS_TEXT];
    for (size_t i = 0; i < count; i++) {
        const struct shared *s = &shared[i];
        if (s->wanted == s->unset || s->wanted == s->is ||
            (atomic_fetch_or(&warned, 1U << i) & 1U << i) != 0)
            continue;
        compare(s, sentence);
        (void)fprintf(stderr, "gpuaes: setting %s\n", sentence);
    }
}

/* Where what is wished cannot be had, it says so; GPUs that were not wished are refused. */
static int share(const struct provider *provider)
{
    struct gpuaes_settings wanted = provider->settings.process;
    struct gpuaes_settings is = {.struct_bytes = sizeof is};
    if (gpuaes_configure(&wanted) || !gpuaes_get_settings(&is))
        return 1;
    const struct shared shared[] = {
        {"devices", wanted.devices, 0, is.devices},
        {"pinned-bytes", wanted.pinned_bytes, 0, is.pinned_bytes},
        {"read-ahead-bytes", wanted.read_ahead_bytes, 0, is.read_ahead_bytes},
        {"timeout-ms", wanted.timeout_ms, 0, is.timeout_ms},
        {"idle-seconds", wanted.idle_seconds, GPUAES_IDLE_DEFAULT, is.idle_seconds},
        {"threads", wanted.threads, 0, is.threads},
    };
    if (wanted.devices != 0 && (is.devices & ~wanted.devices) != 0) {
        char sentence[2 * SETTINGS_TEXT];
        compare(&shared[0], sentence);
        return refuse(provider, sentence);
    }
    warn_of_differences(shared, sizeof shared / sizeof shared[0]);
    return 1;
}

int config_read(struct provider *provider)
{
    warn_of_variables();
    return check_names(provider) && read_values(provider) && share(provider);
}
