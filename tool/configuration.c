/*
 * What OpenSSL's configuration file makes of gpuaes: it is tried in a library context of its
 * own, and where that does not give what it should, read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "configuration.h"

#include <errno.h>
#include <openssl/conf.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* Sets both sentences and returns 0. */
static int because(struct configuration *c, const char *why, const char *change)
{
    (void)snprintf(c->why_not, sizeof c->why_not, "%s", why);
    (void)snprintf(c->change, sizeof c->change, "%s", change);
    return 0;
}

/* ---- Reading the file -------------------------------------------------------------------- */

static int is_in(const CONF *conf, const char *section, const char *name)
{
    return section != NULL && NCONF_get_string(conf, section, name) != NULL;
}

/* The line of the section of providers that is about `name`: its section, or NULL. */
static const char *section_of(const CONF *conf, const char *providers, const char *name)
{
    const STACK_OF(CONF_VALUE) *lines = NCONF_get_section(conf, providers);
    for (int i = 0; lines != NULL && i < sk_CONF_VALUE_num(lines); i++) {
        const CONF_VALUE *line = sk_CONF_VALUE_value(lines, i);
        const char *identity = NCONF_get_string(conf, line->value, "identity");
        if (strcmp(identity != NULL ? identity : line->name, name) == 0)
            return line->value;
    }
    return NULL;
}

static int check_providers(struct configuration *c, const CONF *conf, const char *init)
{
    char text[CONFIGURATION_TEXT];
    const char *providers = NCONF_get_string(conf, init, "providers");
    if (providers == NULL)
        return because(c, "its section for OpenSSL has no line \"providers = ...\"",
                       "take the sections [openssl_init], [providers], [default_section] and "
                       "[gpuaes_section] from the sample gpuaes.cnf");
    const char *ours = section_of(conf, providers, "gpuaes");
    if (ours == NULL) {
        (void)snprintf(text, sizeof text,
                       "write \"gpuaes = gpuaes_section\" into [%s], and at the end of the file "
                       "[gpuaes_section] with the line \"activate = 1\"",
                       providers);
        return because(c, "no provider gpuaes is listed in it", text);
    }
    if (!is_in(conf, ours, "activate")) {
        (void)snprintf(text, sizeof text, "write \"activate = 1\" into [%s]", ours);
        return because(c, "it lists gpuaes, but does not activate it", text);
    }
    const char *base = section_of(conf, providers, "default");
    if (base == NULL || !is_in(conf, base, "activate")) {
        (void)snprintf(text, sizeof text,
                       "write \"default = default_section\" into [%s], and [default_section] "
                       "with the line \"activate = 1\"",
                       providers);
        return because(c,
                       "it activates gpuaes alone, so that OpenSSL has no digests and no random "
                       "numbers",
                       text);
    }
    return 1;
}

static int check_properties(struct configuration *c, const CONF *conf, const char *init)
{
    char text[CONFIGURATION_TEXT];
    const char *algorithms = NCONF_get_string(conf, init, "alg_section");
    const char *properties =
        algorithms != NULL ? NCONF_get_string(conf, algorithms, "default_properties") : NULL;
    if (properties != NULL && strstr(properties, "provider=gpuaes") != NULL)
        return 1;
    if (properties != NULL)
        (void)snprintf(text, sizeof text,
                       "change the line in [%s] to \"default_properties = %s,?provider=gpuaes\"",
                       algorithms, properties);
    else
        (void)snprintf(text, sizeof text,
                       "write \"default_properties = ?provider=gpuaes\" into [%s]%s%s%s",
                       algorithms != NULL ? algorithms : "algs",
                       algorithms != NULL ? "" : ", and \"alg_section = algs\" into [",
                       algorithms != NULL ? "" : init, algorithms != NULL ? "" : "]");
    return because(c, "gpuaes is active, but not preferred: the default provider comes first",
                   text);
}

static int check_lines(struct configuration *c, const CONF *conf)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    if (init == NULL)
        return because(c, "it has no line \"openssl_conf = ...\" in front of its first section",
                       "write \"openssl_conf = openssl_init\" at its top, and take the sections "
                       "from the sample gpuaes.cnf");
    if (!check_providers(c, conf, init) || !check_properties(c, conf, init))
        return 0;
    const char *random = NCONF_get_string(conf, init, "random");
    if (!is_in(conf, random, "properties"))
        (void)snprintf(c->note, sizeof c->note,
                       "OpenSSL's random numbers are made by way of gpuaes, which they need not: "
                       "the sample gpuaes.cnf has a section [random] against it");
    return 1;
}

static int read_lines(struct configuration *c)
{
    char text[CONFIGURATION_TEXT];
    long line = 0;
    CONF *conf = NCONF_new(NULL);
    if (access(c->path, R_OK) != 0) {
        NCONF_free(conf);
        (void)snprintf(text, sizeof text, "it cannot be read: %s", strerror(errno));
        return because(c, text, "set OPENSSL_CONF to the sample gpuaes.cnf, or copy it there");
    }
    if (conf == NULL || NCONF_load(conf, c->path, &line) <= 0) {
        NCONF_free(conf);
        (void)snprintf(text, sizeof text, "line %ld of it is wrong: %s", line, openssl_reason());
        return because(c, text, "correct that line");
    }
    int ok = check_lines(c, conf);
    NCONF_free(conf);
    return ok;
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

/* The file is right, and yet it does not work: what OpenSSL says of the module itself. */
static void find_reason(struct configuration *c, OSSL_LIB_CTX *context)
{
    char text[CONFIGURATION_TEXT];
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(context, "gpuaes");
    (void)snprintf(text, sizeof text, "its lines are right, but the module is not loaded: %s",
                   provider == NULL ? openssl_reason() : "OpenSSL does not say why");
    if (provider != NULL)
        (void)OSSL_PROVIDER_unload(provider);
    (void)because(c, text,
                  "see that gpuaes.so lies in the folder that \"openssl version -m\" names, or "
                  "that OPENSSL_MODULES does, and that its settings are right");
}

void configuration_examine(struct configuration *c)
{
    *c = (struct configuration){0};
    char *path = CONF_get1_default_config_file();
    (void)snprintf(c->path, sizeof c->path, "%s", path != NULL ? path : "");
    OPENSSL_free(path);
    OPENSSL_load_builtin_modules();
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    if (context == NULL)
        return;
    (void)OSSL_LIB_CTX_load_config(context, c->path);
    (void)openssl_reason();
    c->uses_gpuaes = is_ours(context) && has_digests(context);
    (void)openssl_reason();
    if (read_lines(c) && !c->uses_gpuaes)
        find_reason(c, context);
    if (c->uses_gpuaes) /* by lines that are other than those known here */
        c->why_not[0] = c->change[0] = '\0';
    OSSL_LIB_CTX_free(context);
}
