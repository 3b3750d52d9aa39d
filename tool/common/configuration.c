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

/* Each sets one of the sentences and returns 0. */
static int say(char sentence[CONFIGURATION_TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int say(char sentence[CONFIGURATION_TEXT], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, CONFIGURATION_TEXT, format, arguments);
    va_end(arguments);
    return 0;
}
#define because(c, ...) say((c)->why_not, __VA_ARGS__)
#define change(c, ...) say((c)->change, __VA_ARGS__)

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

static int is_in(const CONF *conf, const char *section, const char *name)
{
    return value_in(conf, section, name) != NULL;
}

/* The line of the section of providers that is about `name`: its section, or NULL. */
static const char *section_of(const CONF *conf, const char *providers, const char *name)
{
    const STACK_OF(CONF_VALUE) *lines = NCONF_get_section(conf, providers);
    for (int i = 0; lines != NULL && i < sk_CONF_VALUE_num(lines); i++) {
        const CONF_VALUE *line = sk_CONF_VALUE_value(lines, i);
        const char *identity = value_in(conf, line->value, "identity");
        if (strcmp(identity != NULL ? identity : line->name, name) == 0)
            return line->value;
    }
    return NULL;
}

/* The installed file, included, has all lines that are missing. */
static int lacks(struct configuration *c, const char *why)
{
    int is_installed = access(INSTALLED_CNF, R_OK) == 0;
    (void)because(c, "%s", why);
    return change(c, "%swrite \".include %s\" as its first line",
                  is_installed ? "" : "install gpuaes (" INSTALLED_CNF " is missing), then ",
                  INSTALLED_CNF);
}

static int is_included(const CONF *conf)
{
    return NCONF_get_section(conf, "gpuaes_section") != NULL;
}

static int check_base(struct configuration *c, const CONF *conf, const char *providers)
{
    const char *base = section_of(conf, providers, "default");
    if (base != NULL && is_in(conf, base, "activate"))
        return 1;
    (void)because(c, "it activates gpuaes without the default provider, so that OpenSSL has no "
                     "digests and no random numbers");
    if (base != NULL)
        return change(c, "write \"activate = 1\" into [%s]", base);
    return change(c,
                  "write \"default = default_sect\" into [%s], and at the end of the file "
                  "[default_sect] with the line \"activate = 1\"",
                  providers);
}

static int check_providers(struct configuration *c, const CONF *conf, const char *init)
{
    static const char no_providers[] = "its section for OpenSSL has no line \"providers = ...\"";
    const char *providers = value_in(conf, init, "providers");
    if (providers == NULL && is_included(conf)) {
        (void)because(c, "%s", no_providers);
        return change(c, "write \"providers = gpuaes_providers\" into [%s]", init);
    }
    if (providers == NULL)
        return lacks(c, no_providers);
    const char *ours = section_of(conf, providers, "gpuaes");
    if (ours == NULL && !is_included(conf))
        return lacks(c, "it does not name gpuaes");
    if (ours == NULL) {
        (void)because(c, "no provider gpuaes is in its list of providers");
        return change(c, "write \"gpuaes = gpuaes_section\" into [%s]", providers);
    }
    if (!is_in(conf, ours, "activate")) {
        (void)because(c, "it lists gpuaes, but does not activate it");
        return change(c, "write \"activate = 1\" into [%s]", ours);
    }
    return check_base(c, conf, providers);
}

static int check_properties(struct configuration *c, const CONF *conf, const char *init)
{
    const char *algorithms = value_in(conf, init, "alg_section");
    const char *properties = value_in(conf, algorithms, "default_properties");
    if (properties != NULL && strstr(properties, "provider=gpuaes") != NULL)
        return 1;
    (void)because(c, "gpuaes is active, but not preferred: the default provider comes first");
    if (properties != NULL && properties[0] != '\0')
        return change(c, "change the line in [%s] to \"default_properties = %s,?provider=gpuaes\"",
                      algorithms, properties);
    if (algorithms != NULL)
        return change(c, "write \"default_properties = ?provider=gpuaes\" into [%s]", algorithms);
    return change(c,
                  "write \"alg_section = evp_properties\" into [%s], and at the end of the "
                  "file [evp_properties] with the line \"default_properties = "
                  "?provider=gpuaes\"",
                  init);
}

/* What works, but could be better. */
static void check_random(struct configuration *c, const CONF *conf, const char *init)
{
    static const char slow[] = "OpenSSL's random numbers are made by way of gpuaes, which they "
                               "need not";
    const char *random = value_in(conf, init, "random");
    if (is_in(conf, random, "properties"))
        return;
    if (random != NULL)
        (void)say(c->note, "%s: write \"properties = ?provider=default\" into [%s]", slow, random);
    else
        (void)say(c->note,
                  "%s: write \"random = random_sect\" into [%s], and at the end of the file "
                  "[random_sect] with the line \"properties = ?provider=default\"",
                  slow, init);
}

static int check_lines(struct configuration *c, const CONF *conf)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    if (init == NULL)
        return lacks(c, "it has no line \"openssl_conf = ...\" in front of its first section");
    if (!check_providers(c, conf, init) || !check_properties(c, conf, init))
        return 0;
    check_random(c, conf, init);
    return 1;
}

/* The lines; NULL, and then it says why not. */
static CONF *read_lines(struct configuration *c)
{
    long line = 0;
    if (access(c->path, R_OK) != 0) {
        (void)because(c, "it cannot be read: %s", strerror(errno));
        (void)change(c, "set OPENSSL_CONF to " INSTALLED_CNF);
        return NULL;
    }
    CONF *conf = NCONF_new(NULL);
    if (conf != NULL && NCONF_load(conf, c->path, &line) > 0)
        return conf;
    NCONF_free(conf);
    (void)because(c, "line %ld of it is wrong: %s", line, openssl_reason());
    (void)change(c, "correct that line");
    return NULL;
}

/* ---- Settings --------------------------------------------------------------------------- */

int configuration_environment(char why_not[CONFIGURATION_TEXT])
{
    char name[SETTINGS_TEXT];
    struct settings settings;
    struct settings_fault fault = {0};
    if (settings_read(&settings, settings_in_environment, NULL, &fault))
        return 1;
    settings_variable(fault.key, name);
    return say(why_not, "%s in the environment has the value \"%s\", expected %s", name,
               fault.value, fault.expected);
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

static int check_names(struct configuration *c, const CONF *conf, const char *section)
{
    char sentence[SETTINGS_TEXT];
    const STACK_OF(CONF_VALUE) *lines = NCONF_get_section(conf, section);
    for (int i = 0; i < sk_CONF_VALUE_num(lines); i++) {
        const CONF_VALUE *line = sk_CONF_VALUE_value(lines, i);
        int is_section = NCONF_get_section(conf, line->value) != NULL;
        if (!is_section && !settings_is_unknown(line->name, sentence))
            continue;
        if (is_section)
            (void)because(c, "its setting %s names the section [%s], and gpuaes has no such",
                          line->name, line->value);
        else
            (void)because(c, "its setting %s", sentence);
        return change(c, "correct or delete the line \"%s = %s\" in [%s]", line->name, line->value,
                      section);
    }
    return 1;
}

/* The names and values in the provider's section, and the environment's, which win. */
static int check_settings(struct configuration *c, const CONF *conf, const char *name)
{
    const struct section section = {conf, name};
    struct settings settings;
    struct settings_fault fault = {0};
    if (!configuration_environment(c->why_not))
        return change(c, "correct that variable, or unset it");
    if (!check_names(c, conf, name))
        return 0;
    if (settings_read(&settings, find, &section, &fault))
        return 1;
    (void)because(c, "its setting %s has the value \"%s\", expected %s", fault.key, fault.value,
                  fault.expected);
    return change(c, "correct the line \"%s = %s\" in [%s]", fault.key, fault.value, name);
}

/* ---- Trying it ----------------------------------------------------------------------------- */

static int is_ours(OSSL_LIB_CTX *context)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(context, "AES-256-CTR", NULL);
    const char *name =
        cipher != NULL ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)) : NULL;
    int ours = name != NULL && strcmp(name, "gpuaes") == 0;
    EVP_CIPHER_free(cipher);
    return ours;
}

static int has_digests(OSSL_LIB_CTX *context)
{
    EVP_MD *md = EVP_MD_fetch(context, "SHA256", NULL);
    EVP_MD_free(md);
    return md != NULL;
}

/* The lines are there, and the module is not loaded: what OpenSSL says of it by itself. */
static int find_fault(struct configuration *c, OSSL_LIB_CTX *context, const CONF *conf,
                      const char *section)
{
    const char *module = value_in(conf, section, "module");
    if (!check_settings(c, conf, section))
        return 0;
    if (module != NULL && access(module, R_OK) != 0) {
        (void)because(c, "its lines are right, but the module %s is not there: %s", module,
                      strerror(errno));
        return change(c, "install gpuaes there, or correct that path");
    }
    (void)openssl_reason(); /* of looking for lines */
    OSSL_PROVIDER *provider = module == NULL ? OSSL_PROVIDER_load(context, "gpuaes") : NULL;
    const char *reason = openssl_reason();
    (void)because(c, "its lines are right, but the module is not loaded%s%s",
                  reason[0] != '\0' ? ": " : "", reason);
    if (provider != NULL)
        (void)OSSL_PROVIDER_unload(provider);
    return change(c, "see that gpuaes.so lies in the folder that \"openssl version -m\" names, or "
                     "that OPENSSL_MODULES does");
}

static int find_reason(struct configuration *c, OSSL_LIB_CTX *context, const CONF *conf)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    const char *ours = section_of(conf, value_in(conf, init, "providers"), "gpuaes");
    if (!OSSL_PROVIDER_available(context, "gpuaes"))
        return find_fault(c, context, conf, ours);
    (void)because(c,
                  "gpuaes is loaded, but \"default_properties = %s\" requests properties that "
                  "gpuaes does not have",
                  value_in(conf, value_in(conf, init, "alg_section"), "default_properties"));
    return change(c, "leave it so if that is required of this host (gpuaes is no FIPS module), or "
                     "take the other conditions out of that line");
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
    (void)openssl_reason();
    c->uses_gpuaes = is_ours(context) && has_digests(context);
    (void)openssl_reason();
    CONF *conf = read_lines(c);
    if (conf != NULL && check_lines(c, conf) && !c->uses_gpuaes)
        (void)find_reason(c, context, conf);
    NCONF_free(conf);
    if (c->uses_gpuaes) /* by lines that are other than those known here */
        c->why_not[0] = c->change[0] = '\0';
    OSSL_LIB_CTX_free(context);
}
