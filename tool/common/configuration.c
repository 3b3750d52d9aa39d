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
#include "tool/common/place.h"

/* The preference for gpuaes: it may stand beside one for a provider. */
#define PREFERENCE "?gpuaes.on=yes"

/* In a wheel the Python package makes the file. */
#define WHEEL_CNF "what \"python3 -m gpuaes provider --config\" prints"

#define because(c, ...) (void)snprintf((c)->why_not, CONFIGURATION_TEXT, __VA_ARGS__)
#define change(c, ...) (void)snprintf((c)->change, CONFIGURATION_TEXT, __VA_ARGS__)

enum { PROVIDER_NAME = 64, PROPERTIES_TEXT = 400 };

/* The file in force in a library context, and the providers that fetches there get; "": none. */
struct trial {
    const struct library *library;
    OSSL_LIB_CTX *context;
    char aes[PROVIDER_NAME], digests[PROVIDER_NAME];
};

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
    if (place_is_wheel())
        change(c, "set OPENSSL_CONF to " WHEEL_CNF ", or include that file in its first line");
    else
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

/* Returns 1 if `value` means yes to every OpenSSL. Before 3.3 any value does. */
static int is_yes(const char *value)
{
    static const char *const words[] = {"1", "yes", "YES", "true", "TRUE", "on", "ON"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(value, words[i]) == 0)
            return 1;
    return 0;
}

/* Returns 1 if the section activates its provider; otherwise the reason is `why`, or its value. */
static int check_activation(struct configuration *c, const CONF *conf, const char *section,
                            const char *why)
{
    const char *value = value_in(conf, section, "activate");
    if (value == NULL)
        return lacks_line(c, why, "activate = 1", section, NULL, NULL);
    if (is_yes(value))
        return 1;
    because(c, "its line \"activate = %s\" in [%s] activates nothing from OpenSSL 3.3 on", value,
            section);
    change(c, "change the line in [%s] to \"activate = 1\"", section);
    return 0;
}

/* Digests may come from another provider than the default one, such as a FIPS provider. */
static int check_providers(struct configuration *c, const CONF *conf, const char *init,
                           const struct trial *trial)
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
    if (!check_activation(c, conf, ours, "it lists gpuaes, but does not activate it"))
        return 0;
    if (trial->digests[0] != '\0')
        return 1;
    if (base == NULL)
        return lacks_line(c, no_base, "default = default_sect", list, "default_sect",
                          "activate = 1");
    return check_activation(c, conf, base, no_base);
}

/* Writes `properties` with the preference for gpuaes, in place of an older form of it. */
static void prefer(const char *properties, char line[PROPERTIES_TEXT])
{
    static const char older[] = "?provider=gpuaes";
    const char *at = strstr(properties, older);
    size_t before = at != NULL ? (size_t)(at - properties) : strlen(properties);
    (void)snprintf(line, PROPERTIES_TEXT, "%.*s%s" PREFERENCE "%s", (int)before, properties,
                   at == NULL && before != 0 ? "," : "", at != NULL ? at + strlen(older) : "");
}

/* Returns 1 if OpenSSL can parse `properties`; otherwise the error is in its queue. */
static int can_parse(const char *properties)
{
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    int can = context != NULL && EVP_set_default_properties(context, properties);
    OSSL_LIB_CTX_free(context);
    return can;
}

/* Returns 1 if `properties` keep out all that gpuaes has, whatever else is loaded. */
static int excludes_gpuaes(OSSL_LIB_CTX *context, const char *properties)
{
    /* No other provider has this algorithm. */
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(context, "BASE64", properties);
    EVP_CIPHER_free(cipher);
    return cipher == NULL && OSSL_PROVIDER_available(context, "gpuaes");
}

/* What the default properties demand comes first: without a change there no other one helps. */
static int check_demands(struct configuration *c, const CONF *conf, const char *init,
                         const struct trial *trial)
{
    char line[PROPERTIES_TEXT];
    const char *algorithms = value_in(conf, init, "alg_section");
    const char *mode = value_in(conf, algorithms, "fips_mode");
    const char *properties = value_in(conf, algorithms, "default_properties");
    if (properties != NULL && !can_parse(properties)) {
        because(c, "OpenSSL cannot use its line \"default_properties = %s\": %s", properties,
                openssl_first_reason());
        prefer(properties, line);
        change(c, "change the line in [%s] to \"default_properties = %s\"", algorithms, line);
        if (!can_parse(line))
            change(c, "correct that line in [%s]", algorithms);
        (void)openssl_reason();
        return 0;
    }
    int excludes = properties != NULL && (excludes_gpuaes(trial->context, properties) ||
                                          excludes_gpuaes(trial->library->context, properties));
    (void)openssl_reason();
    int is_fips = EVP_default_properties_is_fips_enabled(trial->context);
    if ((!excludes && !is_fips) || (properties == NULL && mode == NULL))
        return 1;
    int by_mode = !excludes && mode != NULL;
    because(c, "its line \"%s = %s\" requests properties that gpuaes does not have",
            by_mode ? "fips_mode" : "default_properties", by_mode ? mode : properties);
    change(c,
           "leave it so if that is required of this host (gpuaes is no FIPS module), or take what "
           "gpuaes does not have out of that line");
    return 0;
}

static int check_properties(struct configuration *c, const CONF *conf, const char *init)
{
    static const char preferred[] = "default_properties = " PREFERENCE;
    static const char why[] = "gpuaes is active, but not preferred: another provider comes first";
    const char *algorithms = value_in(conf, init, "alg_section");
    const char *properties = value_in(conf, algorithms, "default_properties");
    if (properties != NULL && (strstr(properties, "gpuaes.on=yes") != NULL ||
                               strstr(properties, "provider=gpuaes") != NULL))
        return 1;
    if (algorithms == NULL)
        return lacks_line(c, why, "alg_section = evp_properties", init, "evp_properties",
                          preferred);
    (void)lacks_line(c, why, preferred, algorithms, NULL, NULL);
    if (properties != NULL && properties[0] != '\0') {
        char line[PROPERTIES_TEXT];
        prefer(properties, line);
        change(c, "change the line in [%s] to \"default_properties = %s\"", algorithms, line);
    }
    return 0;
}

static int check_lines(struct configuration *c, const CONF *conf, const struct trial *trial)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    if (init == NULL)
        return lacks(c, "it has no line \"openssl_conf = ...\" in front of its first section");
    return check_demands(c, conf, init, trial) && check_providers(c, conf, init, trial) &&
           check_properties(c, conf, init);
}

/*
 * Returns 1 if the section that the file itself names is in force. A file that is included behind
 * that line, and has such a line, replaces it. A value with a variable is not judged.
 */
static int check_start(struct configuration *c, const CONF *conf)
{
    char line[CONFIGURATION_TEXT], own[CONFIGURATION_TEXT] = "";
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    FILE *file = fopen(c->path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL &&
           line[strspn(line, " \t")] != '[')
        (void)sscanf(line, " openssl_conf = %599[^ \t\r\n#]", own);
    if (file != NULL)
        (void)fclose(file);
    if (own[0] == '\0' || strchr(own, '$') != NULL || init == NULL || strcmp(own, init) == 0)
        return 1;
    because(c,
            "nothing in its section [%s] is in force: an included file replaces the line "
            "\"openssl_conf = %s\"",
            own, own);
    change(c, "make the line that includes gpuaes.cnf its first line");
    return 0;
}

/* The lines; NULL, and then it says why not. */
static CONF *read_lines(struct configuration *c)
{
    long line = 0;
    if (access(c->path, R_OK) != 0) {
        because(c, "it cannot be read: %s", strerror(errno));
        if (place_is_wheel())
            change(c, "set OPENSSL_CONF to " WHEEL_CNF);
        else
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
    struct settings settings;
    struct settings_fault faults[SETTINGS_KEYS];
    unsigned count = settings_read(&settings, NULL, NULL, faults);
    why_not[0] = '\0';
    for (const struct settings_fault *fault = faults; fault < faults + count; fault++) {
        settings_variable(fault->key, name);
        add(why_not, "%s in the environment has the value \"%s\", expected %s", name, fault->value,
            fault->expected);
    }
    return count;
}

struct section {
    const CONF *conf;
    const char *name;
};

/* A settings_find_fn. */
static const char *find(const void *arg, const char *key)
{
    const struct section *section = arg;
    return value_in(section->conf, section->name, key);
}

/* The names and values in the provider's section, and the environment's, which win. */
static int check_settings(struct configuration *c, const CONF *conf, const char *name)
{
    const struct section section = {conf, name};
    char sentence[SETTINGS_TEXT];
    struct settings settings;
    struct settings_fault faults[SETTINGS_KEYS];
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
    unsigned count = settings_read(&settings, find, &section, faults);
    for (const struct settings_fault *fault = faults; fault < faults + count; fault++) {
        if (NCONF_get_section(conf, value_in(conf, name, fault->key)) != NULL)
            continue; /* it was named above */
        add(c->why_not, "its setting %s has the value \"%s\", expected %s", fault->key,
            fault->value, fault->expected);
        add(c->change, "correct the line \"%s = %s\" in [%s]", fault->key, fault->value, name);
    }
    return c->why_not[0] == '\0';
}

/* ---- Trying it ----------------------------------------------------------------------------- */

/* Copies a name, which goes with its provider. */
static void keep_name(char name[PROVIDER_NAME], const OSSL_PROVIDER *provider)
{
    (void)snprintf(name, PROVIDER_NAME, "%s", OSSL_PROVIDER_get0_name(provider));
}

static int try_file(struct trial *trial, const char *path)
{
    trial->context = OSSL_LIB_CTX_new();
    if (trial->context == NULL)
        return 0;
    (void)OSSL_LIB_CTX_load_config(trial->context, path);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(trial->context, "AES-256-CTR", NULL);
    EVP_MD *md = EVP_MD_fetch(trial->context, "SHA256", NULL);
    if (cipher != NULL)
        keep_name(trial->aes, EVP_CIPHER_get0_provider(cipher));
    if (md != NULL)
        keep_name(trial->digests, EVP_MD_get0_provider(md));
    EVP_CIPHER_free(cipher);
    EVP_MD_free(md);
    (void)openssl_reason();
    return 1;
}

/* The properties let gpuaes in, and give no use of it, or of it alone. */
static void find_preference(struct configuration *c, const struct trial *trial,
                            const char *properties)
{
    if (strcmp(trial->aes, "gpuaes") == 0) {
        because(c,
                "its line \"default_properties = %s\" demands gpuaes for all algorithms, so that "
                "OpenSSL has no digests",
                properties);
        change(c, "put a question mark in front of what it demands");
        return;
    }
    because(c,
            "gpuaes is loaded, but its line \"default_properties = %s\" prefers the provider %s "
            "for AES no less",
            properties, trial->aes);
    change(c, "take the preference for %s out of that line, if gpuaes is to do AES", trial->aes);
}

/* The lines are there, and do not do what they should. */
static void find_reason(struct configuration *c, const struct trial *trial, const CONF *conf)
{
    const char *init = NCONF_get_string(conf, "default", "openssl_conf");
    const char *section = section_of(conf, value_in(conf, init, "providers"), "gpuaes");
    const char *module = value_in(conf, section, "module");
    if (OSSL_PROVIDER_available(trial->context, "gpuaes")) {
        find_preference(c, trial,
                        value_in(conf, value_in(conf, init, "alg_section"), "default_properties"));
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
    OSSL_PROVIDER *provider = module == NULL ? OSSL_PROVIDER_load(trial->context, "gpuaes") : NULL;
    const char *reason = openssl_reason();
    because(c, "its lines are right, but the module is not loaded%s%s",
            reason[0] != '\0' ? ": " : "", reason);
    change(c, "see that gpuaes.so lies in the folder that \"openssl version -m\" names, or that "
              "OPENSSL_MODULES does");
    if (provider != NULL)
        (void)OSSL_PROVIDER_unload(provider);
}

static void examine(struct configuration *c, const struct trial *trial)
{
    CONF *conf = read_lines(c);
    c->uses_gpuaes = strcmp(trial->aes, "gpuaes") == 0 && trial->digests[0] != '\0';
    if (c->uses_gpuaes) /* maybe by lines that are other than those known here */
        c->why_not[0] = c->change[0] = '\0';
    if (conf != NULL && c->uses_gpuaes)
        (void)check_start(c, conf);
    else if (conf != NULL && check_lines(c, conf, trial))
        find_reason(c, trial, conf);
    c->is_for_node = conf != NULL && NCONF_get_string(conf, "default", "nodejs_conf") != NULL;
    NCONF_free(conf);
}

void configuration_examine(struct configuration *c, const struct library *library)
{
    struct trial trial = {.library = library};
    *c = (struct configuration){0};
    char *path = CONF_get1_default_config_file();
    char *real = path != NULL ? realpath(path, NULL) : NULL; /* sed -i would replace a link */
    (void)snprintf(c->path, sizeof c->path, "%s", real != NULL ? real : path != NULL ? path : "");
    free(real);
    OPENSSL_free(path);
    OPENSSL_load_builtin_modules();
    if (try_file(&trial, c->path))
        examine(c, &trial);
    OSSL_LIB_CTX_free(trial.context);
}

void configuration_print(const struct configuration *c)
{
    if (!c->uses_gpuaes)
        (void)printf("Programs that read %s do not use gpuaes: %s.\n", c->path, c->why_not);
    else if (c->why_not[0] != '\0')
        (void)printf("Programs that read %s use gpuaes, but %s.\n", c->path, c->why_not);
    else
        (void)printf("Programs that read %s use gpuaes.\n", c->path);
    if (c->change[0] != '\0')
        (void)printf("  What to change: %s.\n", c->change);
    if (c->uses_gpuaes && !c->is_for_node)
        (void)printf("  Programs with a line of their own do not, such as Node.js: it reads "
                     "nodejs_conf, and "
                     "openssl_conf only with NODE_OPTIONS=--openssl-shared-config.\n");
}
