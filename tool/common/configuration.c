/*
 * What OpenSSL's configuration file makes of gpuaes: it is tried in a library context of its
 * own, and where that does not give what it should, read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/common/configuration.h"

#include <errno.h>
#include <openssl/conf.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "provider/common/settings.h"
#include "tool/common/message.h"

#define because(c, ...) (void)snprintf((c)->why_not, CONFIGURATION_TEXT, __VA_ARGS__)
#define change(c, ...) (void)snprintf((c)->change, CONFIGURATION_TEXT, __VA_ARGS__)

/* ---- Reading the file -------------------------------------------------------------------- */

/*
 * A value of this section itself. NCONF_get_string() would take one of [default], too, where
 * OpenSSL, which goes through the section, finds none.
 */
static const char *value_in(const CONF *conf, const char *section, const char *name)
{
    const STACK_OF(CONF_VALUE) *lines = section != NULL ? NCONF_get_section(conf, section) : NULL;
    for (int i = 0; lines != NULL && i < sk_CONF_VALUE_num(lines); i++)
        if (strcmp(sk_CONF_VALUE_value(lines, i)->name, name) == 0)
            return sk_CONF_VALUE_value(lines, i)->value;
    return NULL;
}

/* The line of the section of providers that is about `name`: its section, or NULL. */
static const char *section_of(const CONF *conf, const char *providers, const char *name)
{
    const STACK_OF(CONF_VALUE) *lines =
        providers != NULL ? NCONF_get_section(conf, providers) : NULL;
    for (int i = 0; lines != NULL && i < sk_CONF_VALUE_num(lines); i++) {
        const CONF_VALUE *line = sk_CONF_VALUE_value(lines, i);
        const char *identity = value_in(conf, line->value, "identity");
        if (strcmp(identity != NULL ? identity : line->name, name) == 0)
            return line->value;
    }
    return NULL;
}

/* Returns the step that comes before a use of the installed file; "" if the file is there. */
static const char *install_first(void)
{
    if (access(INSTALLED_CNF, R_OK) == 0)
        return "";
    return "install gpuaes (" INSTALLED_CNF " is missing), then ";
}

/* The installed file, included, has all lines that are missing. Returns 0, as the others do. */
static int lacks(struct configuration *c, const char *why)
{
    because(c, "%s", why);
    change(c, "%swrite \".include " INSTALLED_CNF "\" as its first line", install_first());
    return 0;
}

/* `added` is NULL, or a section that the line names and that is missing, and its line. */
static int lacks_line(struct configuration *c, const char *why, const char *line,
                      const char *section, const char *added, const char *added_line)
{
    because(c, "%s", why);
    change(c, "write \"%s\" into [%s]", line, section);
    size_t end = strlen(c->change);
    if (added != NULL)
        (void)snprintf(c->change + end, CONFIGURATION_TEXT - end,
                       ", and at the end of the file [%s] with the line \"%s\"", added, added_line);
    return 0;
}

static int check_providers(struct configuration *c, const CONF *conf, const char *init)
{
    static const char no_base[] = "it activates gpuaes without the default provider, so that "
                                  "OpenSSL has no digests and no random numbers";
    static const char no_list[] = "its section for OpenSSL has no line \"providers = ...\"";
    int is_included = NCONF_get_section(conf, "gpuaes_section") != NULL;
    const char *list = value_in(conf, init, "providers");
    const char *ours = section_of(conf, list, "gpuaes"), *base = section_of(conf, list, "default");
    if (ours == NULL && !is_included)
        return lacks(c, list == NULL ? no_list : "it does not name gpuaes");
    if (list == NULL)
        return lacks_line(c, no_list, "providers = gpuaes_providers", init, NULL, NULL);
    if (ours == NULL)
        return lacks_line(c, "no provider gpuaes is in its list of providers",
                          "gpuaes = gpuaes_section", list, NULL, NULL);
    if (value_in(conf, ours, "activate") == NULL)
        return lacks_line(c, "it lists gpuaes, but does not activate it", "activate = 1", ours,
                          NULL, NULL);
    if (base == NULL)
        return lacks_line(c, no_base, "default = default_sect", list, "default_sect",
                          "activate = 1");
    return value_in(conf, base, "activate") != NULL ||
           lacks_line(c, no_base, "activate = 1", base, NULL, NULL);
}

static int check_properties(struct configuration *c, const CONF *conf, const char *init)
{
    static const char preferred[] = "default_properties = ?provider=gpuaes";
    static const char why[] = "gpuaes is active, but not preferred: the default provider comes "
                              "first";
    const char *algorithms = value_in(conf, init, "alg_section");
    const char *properties = value_in(conf, algorithms, "default_properties");
    if (properties != NULL && strstr(properties, "provider=gpuaes") != NULL)
        return 1;
    if (algorithms == NULL)
        return lacks_line(c, why, "alg_section = evp_properties", init, "evp_properties",
                          preferred);
    (void)lacks_line(c, why, preferred, algorithms, NULL, NULL);
    if (properties != NULL && properties[0] != '\0')
        change(c, "change the line in [%s] to \"default_properties = %s,?provider=gpuaes\"",
               algorithms, properties);
    return 0;
}

static int check_lines(struct configuration *c, const CONF *conf)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    if (init == NULL)
        return lacks(c, "it has no line \"openssl_conf = ...\" in front of its first section");
    return check_providers(c, conf, init) && check_properties(c, conf, init);
}

/* The lines; NULL, and then it says why not. */
static CONF *read_lines(struct configuration *c)
{
    long line = 0;
    if (access(c->path, R_OK) != 0) {
        because(c, "it cannot be read: %s", strerror(errno));
        change(c, "%sset OPENSSL_CONF to " INSTALLED_CNF, install_first());
        return NULL;
    }
    CONF *conf = NCONF_new(NULL);
    if (conf != NULL && NCONF_load(conf, c->path, &line) > 0)
        return conf;
    NCONF_free(conf);
    because(c, "line %ld of it is wrong: %s", line, openssl_reason());
    change(c, "correct that line");
    return NULL;
}

/* ---- Settings --------------------------------------------------------------------------- */

enum { FAULTS = 16 }; /* more than there are settings */

/* Settings that are wrong: settings_read() stops at the first, so it is not shown those again. */
struct faults {
    settings_find_fn *find;
    const void *arg;
    const char *found[FAULTS];
    unsigned count;
};

/* A settings_find_fn. */
static const char *find_other(const void *arg, const char *key)
{
    const struct faults *faults = arg;
    for (unsigned i = 0; i < faults->count; i++)
        if (strcmp(faults->found[i], key) == 0)
            return NULL;
    return faults->find(faults->arg, key);
}

/* Returns 1 and the next setting that is wrong, or 0. */
static int next_fault(struct faults *faults, struct settings_fault *fault)
{
    struct settings settings;
    if (faults->count == FAULTS || settings_read(&settings, find_other, faults, fault))
        return 0;
    faults->found[faults->count++] = fault->key;
    return 1;
}

/* Adds to a list with semicolons. */
__attribute__((format(printf, 2, 3))) static void add(char text[CONFIGURATION_TEXT],
                                                      const char *format, ...)
{
    size_t end = strlen(text);
    va_list arguments;
    if (end != 0 && end + 2 < CONFIGURATION_TEXT) {
        memcpy(text + end, "; ", sizeof "; ");
        end += 2;
    }
    va_start(arguments, format);
    (void)vsnprintf(text + end, CONFIGURATION_TEXT - end, format, arguments);
    va_end(arguments);
}

unsigned configuration_environment(char why_not[CONFIGURATION_TEXT])
{
    char name[SETTINGS_TEXT];
    struct settings_fault fault = {0};
    struct faults faults = {.find = settings_in_environment};
    why_not[0] = '\0';
    while (next_fault(&faults, &fault)) {
        settings_variable(fault.key, name);
        add(why_not, "%s in the environment has the value \"%s\", expected %s", name, fault.value,
            fault.expected);
    }
    return faults.count;
}

struct section {
    const CONF *conf;
    const char *name;
};

/* A settings_find_fn: the environment wins. */
static const char *find(const void *arg, const char *key)
{
    const struct section *section = arg;
    const char *value = settings_in_environment(NULL, key);
    return value != NULL ? value : value_in(section->conf, section->name, key);
}

/* The names and values in the provider's section, and the environment's, which win. */
static int check_settings(struct configuration *c, const CONF *conf, const char *name)
{
    const struct section section = {conf, name};
    char sentence[SETTINGS_TEXT];
    struct settings_fault fault = {0};
    struct faults faults = {.find = find, .arg = &section};
    if (configuration_environment(c->why_not) != 0) {
        change(c, "correct what is wrong in the environment, or unset it");
        return 0;
    }
    const STACK_OF(CONF_VALUE) *lines = NCONF_get_section(conf, name);
    for (int i = 0; i < sk_CONF_VALUE_num(lines); i++) {
        const CONF_VALUE *line = sk_CONF_VALUE_value(lines, i);
        if (NCONF_get_section(conf, line->value) != NULL)
            add(c->why_not, "its setting %s names the section [%s], and gpuaes has no such",
                line->name, line->value);
        else if (settings_is_unknown(line->name, sentence))
            add(c->why_not, "its setting %s", sentence);
        else
            continue;
        add(c->change, "correct or delete the line \"%s = %s\" in [%s]", line->name, line->value,
            name);
    }
    while (next_fault(&faults, &fault)) {
        if (NCONF_get_section(conf, value_in(conf, name, fault.key)) != NULL)
            continue; /* it was named above */
        add(c->why_not, "its setting %s has the value \"%s\", expected %s", fault.key, fault.value,
            fault.expected);
        add(c->change, "correct the line \"%s = %s\" in [%s]", fault.key, fault.value, name);
    }
    return c->why_not[0] == '\0';
}

/* ---- Trying it ----------------------------------------------------------------------------- */

static int is_used(OSSL_LIB_CTX *context)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(context, "AES-256-CTR", NULL);
    EVP_MD *md = EVP_MD_fetch(context, "SHA256", NULL);
    int used = cipher != NULL && md != NULL &&
               strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), "gpuaes") == 0;
    EVP_CIPHER_free(cipher);
    EVP_MD_free(md);
    (void)openssl_reason();
    return used;
}

/* The lines are there, and do not do what they should. */
static void find_reason(struct configuration *c, OSSL_LIB_CTX *context, const CONF *conf)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    const char *section = section_of(conf, value_in(conf, init, "providers"), "gpuaes");
    const char *module = value_in(conf, section, "module");
    if (OSSL_PROVIDER_available(context, "gpuaes")) {
        because(c,
                "gpuaes is loaded, but \"default_properties = %s\" requests properties that "
                "gpuaes does not have",
                value_in(conf, value_in(conf, init, "alg_section"), "default_properties"));
        change(c, "leave it so if that is required of this host (gpuaes is no FIPS module), or "
                  "take the other conditions out of that line");
        return;
    }
    if (!check_settings(c, conf, section))
        return;
    if (module != NULL && access(module, R_OK) != 0) {
        because(c, "its lines are right, but the module %s is not there: %s", module,
                strerror(errno));
        change(c, "install gpuaes there, or correct that path");
        return;
    }
    (void)openssl_reason(); /* of looking for lines */
    OSSL_PROVIDER *provider = module == NULL ? OSSL_PROVIDER_load(context, "gpuaes") : NULL;
    const char *reason = openssl_reason();
    because(c, "its lines are right, but the module is not loaded%s%s",
            reason[0] != '\0' ? ": " : "", reason);
    change(c, "see that gpuaes.so lies in the folder that \"openssl version -m\" names, or that "
              "OPENSSL_MODULES does");
    if (provider != NULL)
        (void)OSSL_PROVIDER_unload(provider);
}

void configuration_examine(struct configuration *c)
{
    *c = (struct configuration){0};
    char *path = CONF_get1_default_config_file();
    char *real = path != NULL ? realpath(path, NULL) : NULL; /* sed -i would replace a link */
    (void)snprintf(c->path, sizeof c->path, "%s", real != NULL ? real : path != NULL ? path : "");
    free(real);
    OPENSSL_free(path);
    OPENSSL_load_builtin_modules();
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    if (context == NULL)
        return;
    (void)OSSL_LIB_CTX_load_config(context, c->path);
    c->uses_gpuaes = is_used(context);
    CONF *conf = read_lines(c);
    if (conf != NULL && check_lines(c, conf) && !c->uses_gpuaes)
        find_reason(c, context, conf);
    NCONF_free(conf);
    if (c->uses_gpuaes) /* by lines that are other than those known here */
        c->why_not[0] = c->change[0] = '\0';
    OSSL_LIB_CTX_free(context);
}

void configuration_print(const struct configuration *c)
{
    if (c->uses_gpuaes)
        (void)printf("Programs that read %s use gpuaes.\n", c->path);
    else
        (void)printf("Programs that read %s do not use gpuaes: %s.\n  What to change: %s.\n",
                     c->path, c->why_not, c->change);
}
