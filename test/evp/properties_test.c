/*
 * Which provider a fetch gets: default properties as an administrator writes them, with ours among
 * them, and each kind of query that a program brings.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_dispatch.h>

#include "test/support/providers.h"

/* ---- Stand-ins for providers that a host may have -------------------------------------------- */

/* A fetch calls none but the last. */
static OSSL_FUNC_cipher_newctx_fn new_context;
static OSSL_FUNC_cipher_freectx_fn free_context;
static OSSL_FUNC_cipher_encrypt_init_fn begin;
static OSSL_FUNC_cipher_update_fn update;
static OSSL_FUNC_cipher_final_fn final;
static OSSL_FUNC_cipher_get_params_fn get_params;

static void *new_context(void *provider)
{
    (void)provider;
    return NULL;
}

static void free_context(void *context)
{
    (void)context;
}

static int begin(void *context, const unsigned char *key, size_t key_bytes, const unsigned char *iv,
                 size_t iv_bytes, const OSSL_PARAM params[])
{
    (void)context, (void)key, (void)key_bytes, (void)iv, (void)iv_bytes, (void)params;
    return 0;
}

static int update(void *context, unsigned char *out, size_t *written, size_t room,
                  const unsigned char *in, size_t bytes)
{
    (void)context, (void)out, (void)written, (void)room, (void)in, (void)bytes;
    return 0;
}

static int final(void *context, unsigned char *out, size_t *written, size_t room)
{
    (void)context, (void)out, (void)written, (void)room;
    return 0;
}

static int get_params(OSSL_PARAM params[])
{
    (void)params;
    return 1;
}

#define FUNCTION(ID, function)                                                                     \
    {                                                                                              \
        OSSL_FUNC_##ID, (void (*)(void))(function)                                                 \
    }
static const OSSL_DISPATCH cipher_functions[] = {FUNCTION(CIPHER_NEWCTX, new_context),
                                                 FUNCTION(CIPHER_FREECTX, free_context),
                                                 FUNCTION(CIPHER_ENCRYPT_INIT, begin),
                                                 FUNCTION(CIPHER_UPDATE, update),
                                                 FUNCTION(CIPHER_FINAL, final),
                                                 FUNCTION(CIPHER_GET_PARAMS, get_params),
                                                 {0, NULL}};

/* A provider's name, its cipher and the cipher's properties. */
#define STAND_INS(ROW)                                                                             \
    ROW(fips, "AES-256-CTR", "provider=fips,fips=yes")                                             \
    ROW(tpm2, "AES-256-CFB", "provider=tpm2")

#define STAND_IN(name, cipher, properties)                                                         \
    static const OSSL_ALGORITHM *query_##name(void *provider, int operation, int *no_cache)        \
    {                                                                                              \
        static const OSSL_ALGORITHM ciphers[] = {{cipher, properties, cipher_functions, ""},       \
                                                 {NULL, NULL, NULL, NULL}};                        \
        (void)provider;                                                                            \
        *no_cache = 0;                                                                             \
        return operation == OSSL_OP_CIPHER ? ciphers : NULL;                                       \
    }                                                                                              \
    static int init_##name(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in,                  \
                           const OSSL_DISPATCH **out, void **context)                              \
    {                                                                                              \
        static const OSSL_DISPATCH functions[] = {                                                 \
            FUNCTION(PROVIDER_QUERY_OPERATION, query_##name), {0, NULL}};                          \
        static int instance;                                                                       \
        (void)core, (void)in;                                                                      \
        *out = functions;                                                                          \
        *context = &instance;                                                                      \
        return 1;                                                                                  \
    }
STAND_INS(STAND_IN)

/* ---- Fetches --------------------------------------------------------------------------------- */

#define ALONE "?gpuaes.on=yes"
#define TPM2 "?provider=tpm2,?gpuaes.on=yes"
#define FIPS "fips=yes,?gpuaes.on=yes"

static const struct {
    const char *defaults, *query, *cipher, *wanted; /* query NULL: the program has none */
} rows[] = {
    {ALONE, NULL, "AES-256-CTR", "gpuaes"},
    {ALONE, NULL, "AES-256-CCM", "default"},
    {ALONE, "?provider=tpm2", "AES-256-CTR", "gpuaes"},
    {ALONE, "?provider=tpm2", "AES-256-CFB", "tpm2"},
    {ALONE, "provider=default", "AES-256-CTR", "default"},
    {ALONE, "provider=fips", "AES-256-CTR", "fips"},
    {ALONE, "provider=tpm2", "AES-256-CTR", NULL},
    {ALONE, "provider!=fips", "AES-256-CTR", "gpuaes"},
    {ALONE, "?provider!=fips", "AES-256-CTR", "gpuaes"},
    {ALONE, "provider!=gpuaes,fips!=yes", "AES-256-CTR", "default"},
    {ALONE, "fips=yes", "AES-256-CTR", "fips"},
    {ALONE, "fips=yes", "AES-256-GCM", NULL},
    {ALONE, "fips=no", "AES-256-CTR", "gpuaes"},
    {ALONE, "-fips", "AES-256-CTR", "gpuaes"},
    {ALONE, "provider!=tpm2,fips!=yes", "AES-256-CTR", "gpuaes"},
    {ALONE, "provider=default,fips!=yes", "AES-256-CTR", "default"},
    {ALONE, "provider=gpuaes", "AES-256-CTR", "gpuaes"},
    {TPM2, NULL, "AES-256-CTR", "gpuaes"},
    {TPM2, NULL, "AES-256-CFB", "tpm2"},
    {TPM2, "provider!=fips", "AES-256-CTR", "gpuaes"},
    {TPM2, "provider=default", "AES-256-CTR", "default"},
    {TPM2, "fips=yes", "AES-256-CTR", "fips"},
    {TPM2, "fips=no", "AES-256-CTR", "gpuaes"},
    {FIPS, NULL, "AES-256-CTR", "fips"},
    {FIPS, NULL, "AES-256-GCM", NULL},
    {FIPS, "?provider=gpuaes", "AES-256-CTR", "fips"},
    {FIPS, "provider=gpuaes", "AES-256-CTR", NULL},
    {FIPS, "provider!=tpm2", "AES-256-CTR", "fips"},
    {FIPS, "-fips", "AES-256-CTR", "gpuaes"},
    /* What a program says that is to have none of ours, as the random number generator does. */
    {ALONE, "?gpuaes.on!=yes,fips!=yes", "AES-256-CTR", "default"},
    {ALONE, "-gpuaes.on,provider=default", "AES-256-CTR", "default"},
    {TPM2, "?gpuaes.on!=yes", "AES-256-CFB", "tpm2"},
    {FIPS, "?gpuaes.on!=yes", "AES-256-CTR", "fips"},
    /* The older form is a preference as well. */
    {"?provider=gpuaes", NULL, "AES-256-CTR", "gpuaes"},
};

static void fetch(const char *order, OSSL_LIB_CTX *context, const char *defaults, const char *query,
                  const char *cipher, const char *wanted)
{
    int set = EVP_set_default_properties(context, defaults);
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(context, cipher, query);
    const char *is =
        fetched != NULL ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(fetched)) : "none";
    tap_ok(set && strcmp(is, wanted != NULL ? wanted : "none") == 0,
           "%s: with \"%s\", and \"%s\" of the program, %s is of %s", order, defaults,
           query != NULL ? query : "", cipher, is);
    EVP_CIPHER_free(fetched);
    ERR_clear_error();
}

enum { PROVIDERS = 4 };

static OSSL_PROVIDER *loaded[PROVIDERS];

static OSSL_LIB_CTX *load(const char *const order[PROVIDERS])
{
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
#define ADD(name, cipher, properties)                                                              \
    if (!OSSL_PROVIDER_add_builtin(context, #name, init_##name))                                   \
        abort();
    STAND_INS(ADD)
#undef ADD
    for (int i = 0; i < PROVIDERS && order[i] != NULL; i++)
        if ((loaded[i] = OSSL_PROVIDER_load(context, order[i])) == NULL)
            abort();
    return context;
}

static void unload(OSSL_LIB_CTX *context)
{
    for (int i = 0; i < PROVIDERS && loaded[i] != NULL; i++) {
        OSSL_PROVIDER_unload(loaded[i]);
        loaded[i] = NULL;
    }
    OSSL_LIB_CTX_free(context);
}

int main(void)
{
    static const char *const orders[][PROVIDERS] = {{"default", "tpm2", "fips", "gpuaes"},
                                                    {"gpuaes", "fips", "default", "tpm2"}};
    static const char *const without[PROVIDERS] = {"default", "tpm2"};
    if (stand_in())
        return tap_skip_all("the default provider stands in");
    for (size_t n = 0; n < sizeof orders / sizeof orders[0]; n++) {
        OSSL_LIB_CTX *context = load(orders[n]);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            fetch(n == 0 ? "gpuaes last" : "gpuaes first", context, rows[i].defaults, rows[i].query,
                  rows[i].cipher, rows[i].wanted);
        unload(context);
    }
    OSSL_LIB_CTX *context = load(without);
    fetch("without gpuaes", context, ALONE, NULL, "AES-256-CTR", "default");
    fetch("without gpuaes", context, TPM2, NULL, "AES-256-CFB", "tpm2");
    fetch("without gpuaes", context, TPM2, "provider!=fips", "AES-256-CTR", "default");
    unload(context);
    return tap_done();
}
