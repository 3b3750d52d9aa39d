/*
 * Settings of any text, in the environment and in the provider's section of a
 * configuration: loads, or is refused with an error that names the key and its value, as
 * provider-gpuaes(7) says. What loaded encrypts rightly, and answers for parameters of
 * any type and size.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <ctype.h>
#include <openssl/conf.h>
#include <openssl/core_names.h>

#include "cuda/gpuaes.h"
#include "test/fuzz/fuzz.h"

enum { SETTINGS = 11, LONGEST = 40, MOST = 4 };
enum { BAD_SETTING = 1 }; /* provider/common/errors.h */

struct rule {
    const char *key, *variable;
    const char *words; /* one of these; or */
    uint64_t least, most;
};

#define TIB ((uint64_t)1 << 40)

/* In the order in which they are read. */
static const struct rule rules[SETTINGS] = {
    {"policy", "GPUAES_POLICY", " auto gpu cpu ", 0, 0},
    {"start", "GPUAES_START", " auto eager never ", 0, 0},
    {"log", "GPUAES_LOG", " off summary debug ", 0, 0},
    {"start-bytes", "GPUAES_START_BYTES", NULL, 0, UINT64_MAX},
    {"pinned-bytes", "GPUAES_PINNED_BYTES", NULL, 1 << 20, TIB},
    {"read-ahead-bytes", "GPUAES_READ_AHEAD_BYTES", NULL, 0, TIB},
    {"idle-seconds", "GPUAES_IDLE_SECONDS", NULL, 0, 1000000000},
    {"timeout-ms", "GPUAES_TIMEOUT_MS", NULL, 1, 3600000},
    {"threads", "GPUAES_THREADS", " auto ", 1, 64},
    {"devices", "GPUAES_DEVICES", " all ", 0, 0},
    {"min-bytes", "GPUAES_MIN_BYTES", " auto ", 0, UINT64_MAX - 1},
};
enum { POLICY_KEY = 0, START_KEY = 1, DEVICES_KEY = 9, MIN_BYTES_KEY = 10 };

struct settings {
    char value[SETTINGS][LONGEST + 1];
    int given[SETTINGS], in_environment;
};

/* ---- What is right ------------------------------------------------------------ */

static int is_word(const struct rule *rule, const char *value)
{
    char spaced[LONGEST + 3];
    (void)snprintf(spaced, sizeof spaced, " %s ", value);
    return rule->words != NULL && strchr(value, ' ') == NULL && *value != '\0' &&
           strstr(rule->words, spaced) != NULL;
}

static int is_number(const struct rule *rule, const char *value)
{
    static const char units[] = "KMGT";
    unsigned __int128 n = 0;
    size_t digits = strspn(value, "0123456789");
    const char *unit = value[digits] != '\0' ? strchr(units, value[digits]) : NULL;
    for (size_t i = 0; i < digits; i++)
        n = n >> 80 == 0 ? n * 10 + (unsigned)(value[i] - '0') : n;
    if (digits == 0 || (value[digits] != '\0' && (unit == NULL || value[digits + 1] != '\0')))
        return 0;
    for (const char *u = units; unit != NULL && u <= unit; u++)
        n *= 1024;
    return n >= rule->least && n <= rule->most;
}

static int is_device_list(const char *value)
{
    for (;;) {
        size_t digits = strspn(value, "0123456789");
        if (digits < 1 || digits > 2 || atoi(value) >= 64)
            return 0;
        value += digits;
        if (*value == '\0')
            return 1;
        if (*value++ != ',')
            return 0;
    }
}

static int is_right(int setting, const char *value)
{
    const struct rule *rule = &rules[setting];
    if (is_word(rule, value))
        return 1;
    if (setting == DEVICES_KEY)
        return is_device_list(value);
    return rule->most != 0 && is_number(rule, value);
}

/* The first wrong one as they are read, or -1. */
static int first_wrong(const struct settings *s)
{
    for (int i = 0; i < SETTINGS; i++)
        if (s->given[i] && !is_right(i, s->value[i]))
            return i;
    return -1;
}

/* ---- Settings ------------------------------------------------------------------- */

static void take_settings(struct input *in, struct settings *s)
{
    unsigned how = take_byte(in), n = 1 + how / 2 % MOST;
    memset(s, 0, sizeof *s);
    s->in_environment = (int)(how & 1);
    for (unsigned k = 0; k < n; k++) {
        int i = (int)take_below(in, SETTINGS);
        size_t length = take_below(in, LONGEST + 1), used = 0;
        for (; used < length && in->left != 0; used++) {
            char c = (char)take_byte(in);
            if (c == '\0')
                break;
            /* What a configuration file has a meaning for is not for this. */
            if (!s->in_environment && !isalnum((unsigned char)c) && strchr("+,-.:", c) == NULL)
                c = 'x';
            s->value[i][used] = c;
        }
        s->value[i][used] = '\0';
        s->given[i] = s->in_environment || used != 0;
    }
}

static void set_environment(const struct settings *s)
{
    for (int i = 0; i < SETTINGS; i++)
        if (s->in_environment && s->given[i])
            (void)setenv(rules[i].variable, s->value[i], 1);
        else
            (void)unsetenv(rules[i].variable);
}

static OSSL_PROVIDER *load_by_configuration(OSSL_LIB_CTX *libctx, const struct settings *s)
{
    char text[SETTINGS * (LONGEST + 40) + 200];
    int length = snprintf(text, sizeof text,
                          "openssl_conf = init.\n[init.]\nproviders = list.\n[list.]\n"
                          "gpuaes = ours.\n[ours.]\nactivate = 1\n");
    for (int i = 0; i < SETTINGS; i++)
        if (s->given[i])
            length += snprintf(text + length, sizeof text - (size_t)length, "%s = %s\n",
                               rules[i].key, s->value[i]);
    CONF *conf = NCONF_new_ex(libctx, NULL);
    BIO *bio = BIO_new_mem_buf(text, length);
    if (NCONF_load_bio(conf, bio, NULL) <= 0)
        found("this is no configuration: %s", text);
    (void)CONF_modules_load(conf, NULL, 0);
    BIO_free(bio);
    NCONF_free(conf);
    return OSSL_PROVIDER_available(libctx, "gpuaes") ? OSSL_PROVIDER_load(libctx, "gpuaes") : NULL;
}

/* ---- The provider with them ------------------------------------------------------- */

/* OpenSSL drops the errors of a provider that its configuration activates. */
static void check_refusal(const struct settings *s, int wrong)
{
    const char *detail;
    int flags;
    char expected[LONGEST + 80];
    unsigned long error;
    if (!s->in_environment)
        return;
    (void)snprintf(expected, sizeof expected, "%s has the value \"", rules[wrong].key);
    while ((error = ERR_get_error_all(NULL, NULL, NULL, &detail, &flags)) != 0)
        if (ERR_GET_REASON(error) == BAD_SETTING && (flags & ERR_TXT_STRING) != 0 &&
            strncmp(detail, expected, strlen(expected)) == 0)
            return;
    found("%s=%s is refused without a word", rules[wrong].key, s->value[wrong]);
}

/* On the CPU: a start takes as long as a thousand runs of this. */
static void encrypt(OSSL_LIB_CTX *libctx, const struct settings *s)
{
    static const unsigned char key[16] = "0123456789abcde", plain[100] = "text";
    unsigned char out[2][128];
    int written[2] = {0, 0}, same = 1;
    if ((s->given[POLICY_KEY] && strcmp(s->value[POLICY_KEY], "gpu") == 0) ||
        (s->given[START_KEY] && strcmp(s->value[START_KEY], "eager") == 0) ||
        (s->given[MIN_BYTES_KEY] && strcmp(s->value[MIN_BYTES_KEY], "auto") != 0))
        return;
    for (int i = 0; i < 2; i++) {
        EVP_CIPHER *cipher = i == 0 ? EVP_CIPHER_fetch(libctx, "AES-128-CTR", "provider=gpuaes")
                                    : EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        same &= EVP_EncryptInit_ex2(context, cipher, key, key, NULL) &&
                EVP_EncryptUpdate(context, out[i], &written[i], plain, sizeof plain);
        EVP_CIPHER_CTX_free(context);
        EVP_CIPHER_free(cipher);
    }
    if (!same || written[0] != written[1] || memcmp(out[0], out[1], (size_t)written[0]) != 0)
        found("with these settings the text differs");
}

static void ask(struct input *in, OSSL_PROVIDER *provider)
{
    static const char *const keys[] = {"name",      "version",   "buildinfo",       "status",
                                       "gpu-bytes", "underruns", "cpu-bytes-small", "unknown"};
    static const unsigned types[] = {OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_INTEGER,
                                     OSSL_PARAM_UTF8_PTR,         OSSL_PARAM_UTF8_STRING,
                                     OSSL_PARAM_OCTET_STRING,     OSSL_PARAM_REAL};
    unsigned char value[4][32];
    OSSL_PARAM params[5];
    unsigned n = take_below(in, 5);
    for (unsigned i = 0; i < n; i++) {
        params[i] = (OSSL_PARAM){.key = keys[take_below(in, 8)],
                                 .data_type = types[take_below(in, 6)],
                                 .data = value[i],
                                 .data_size = take_below(in, 33)};
        if (params[i].data_type == OSSL_PARAM_UTF8_PTR)
            params[i].data_size = sizeof(char *);
    }
    params[n] = OSSL_PARAM_construct_end();
    (void)OSSL_PROVIDER_get_params(provider, params);
}

/* Devices that earlier runs agreed on, and that these settings, which are right, do not name. */
static int excludes_devices_in_force(const struct settings *s)
{
    struct gpuaes_settings is = {.struct_bytes = sizeof is};
    uint64_t named = 0;
    char *rest;
    if (!s->given[DEVICES_KEY] || strcmp(s->value[DEVICES_KEY], "all") == 0 ||
        !gpuaes_get_settings(&is))
        return 0;
    for (const char *p = s->value[DEVICES_KEY];; p = rest + 1) {
        named |= (uint64_t)1 << strtoul(p, &rest, 10);
        if (*rest != ',')
            return (is.devices & ~named) != 0;
    }
}

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    (void)arguments;
    (void)argument;
    OPENSSL_load_builtin_modules();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct settings s;
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    take_settings(&in, &s);
    set_environment(&s);
    if (!OSSL_PROVIDER_add_builtin(libctx, "gpuaes", OSSL_provider_init))
        found("the provider is not taken");
    OSSL_PROVIDER *provider =
        s.in_environment ? OSSL_PROVIDER_load(libctx, "gpuaes") : load_by_configuration(libctx, &s);
    int wrong = first_wrong(&s);
    int excluded = wrong < 0 && provider == NULL && excludes_devices_in_force(&s);
    if ((provider != NULL) != (wrong < 0) && !excluded)
        found("%s=%s: %s", wrong < 0 ? "" : rules[wrong].key, wrong < 0 ? "" : s.value[wrong],
              provider != NULL ? "loads" : "refused");
    if (provider == NULL && !excluded) {
        check_refusal(&s, wrong);
    } else if (provider != NULL) {
        encrypt(libctx, &s);
        ask(&in, provider);
        (void)OSSL_PROVIDER_unload(provider);
    }
    ERR_clear_error();
    OSSL_LIB_CTX_free(libctx);
    return 0;
}
