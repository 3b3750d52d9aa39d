/*
 * The provider under test and the default provider.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/providers.h"

struct providers test_providers;

const struct cipher_row cipher_rows[ALL_ROWS] = {
    {"AES-128-ECB", "2.16.840.1.101.3.4.1.1", ECB, 16},
    {"AES-192-ECB", "2.16.840.1.101.3.4.1.21", ECB, 24},
    {"AES-256-ECB", "2.16.840.1.101.3.4.1.41", ECB, 32},
    {"AES-128-CBC", "2.16.840.1.101.3.4.1.2", CBC, 16},
    {"AES-192-CBC", "2.16.840.1.101.3.4.1.22", CBC, 24},
    {"AES-256-CBC", "2.16.840.1.101.3.4.1.42", CBC, 32},
    {"AES-128-CTR", NULL, CTR, 16},
    {"AES-192-CTR", NULL, CTR, 24},
    {"AES-256-CTR", NULL, CTR, 32},
    {"AES-128-XTS", "1.3.111.2.1619.0.1.1", XTS, 32},
    {"AES-256-XTS", "1.3.111.2.1619.0.1.2", XTS, 64},
    {"AES-128-GCM", "2.16.840.1.101.3.4.1.6", GCM, 16},
    {"AES-192-GCM", "2.16.840.1.101.3.4.1.26", GCM, 24},
    {"AES-256-GCM", "2.16.840.1.101.3.4.1.46", GCM, 32},
};

int stand_in(void)
{
    const char *name = getenv("GPUAES_TEST_PROVIDER");

    return name && !strcmp(name, "default");
}

struct providers providers_load(void)
{
    struct providers p = {.properties = stand_in() ? "provider=default" : "provider=gpuaes"};

    p.ours = OSSL_LIB_CTX_new();
    p.reference = OSSL_LIB_CTX_new();
    if (p.ours && !stand_in())
        p.gpuaes = OSSL_PROVIDER_load(p.ours, "gpuaes");
    if (p.ours)
        p.ours_default = OSSL_PROVIDER_load(p.ours, "default");
    if (p.reference)
        p.reference_default = OSSL_PROVIDER_load(p.reference, "default");
    if (!p.ours_default || !p.reference_default || (!p.gpuaes && !stand_in())) {
        ERR_print_errors_fp(stderr);
        puts("Bail out! the providers do not load; does OPENSSL_MODULES name the folder?");
        exit(EXIT_FAILURE);
    }
    return p;
}

void providers_unload(struct providers *p)
{
    OSSL_PROVIDER_unload(p->gpuaes);
    OSSL_PROVIDER_unload(p->ours_default);
    OSSL_PROVIDER_unload(p->reference_default);
    OSSL_LIB_CTX_free(p->ours);
    OSSL_LIB_CTX_free(p->reference);
}

EVP_CIPHER *fetch_ours(const struct providers *p, const char *name)
{
    return EVP_CIPHER_fetch(p->ours, name, p->properties);
}

EVP_CIPHER *fetch_reference(const struct providers *p, const char *name)
{
    return EVP_CIPHER_fetch(p->reference, name, "provider=default");
}

int functions_find(OSSL_PROVIDER *provider, int operation, const char *name,
                   const struct wanted_function *wanted)
{
    int no_cache, all = 1;
    const OSSL_ALGORITHM *a = OSSL_PROVIDER_query_operation(provider, operation, &no_cache);
    const size_t length = strlen(name); /* AES-128-GCM-SIV is another one than AES-128-GCM */
    while (a != NULL && a->algorithm_names != NULL &&
           (strncmp(a->algorithm_names, name, length) != 0 ||
            (a->algorithm_names[length] != ':' && a->algorithm_names[length] != '\0')))
        a++;
    if (a == NULL || a->algorithm_names == NULL)
        return 0;
    for (; wanted->id != 0; wanted++) {
        const OSSL_DISPATCH *d = a->implementation;
        while (d->function_id != 0 && d->function_id != wanted->id)
            d++;
        memcpy(wanted->pointer, &d->function, sizeof d->function);
        all &= d->function != NULL;
    }
    return all;
}

struct figures figures_get(const struct providers *p)
{
    struct figures f = {0, 0, 0, 0, 0};
    OSSL_PARAM params[] = {
        OSSL_PARAM_uint64("gpu-bytes", &f.gpu_bytes), OSSL_PARAM_uint64("cpu-bytes", &f.cpu_bytes),
        OSSL_PARAM_uint64("launches", &f.launches),   OSSL_PARAM_uint64("faults", &f.faults),
        OSSL_PARAM_uint64("start-ms", &f.start_ms),   OSSL_PARAM_END};

    if (p->gpuaes && !OSSL_PROVIDER_get_params(p->gpuaes, params))
        tap_diag("the provider does not give its figures");
    return f;
}

uint64_t figure(const char *name)
{
    uint64_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64(name, &value), OSSL_PARAM_END};

    if (test_providers.gpuaes == NULL || OSSL_PROVIDER_get_params(test_providers.gpuaes, params))
        return value;
    tap_diag("the provider does not give %s", name);
    return UINT64_MAX;
}

unsigned long first_error(void)
{
    unsigned long error = ERR_peek_error();

    ERR_clear_error();
    return error ? ERR_PACK(ERR_GET_LIB(error), 0, ERR_GET_REASON(error)) : 0;
}

EVP_CIPHER_CTX *context_open(int ours, const char *name, const unsigned char *key,
                             const unsigned char *iv, int encrypt, const OSSL_PARAM *params)
{
    EVP_CIPHER *cipher =
        ours ? fetch_ours(&test_providers, name) : fetch_reference(&test_providers, name);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = EVP_CipherInit_ex2(context, cipher, key, iv, encrypt, params);

    EVP_CIPHER_free(cipher);
    if (ok)
        return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

int reason_is(const char *text)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    int is = reason && !strcmp(reason, text);

    if (!is)
        tap_diag("the reason is \"%s\"", reason ? reason : "");
    ERR_clear_error();
    return is;
}

int update_agrees(const struct providers *p, const char *name, int encrypt, unsigned char *in,
                  unsigned char *out, size_t length)
{
    static const unsigned char key[32] = "the key of one update", iv[16] = "\xff\xff";
    EVP_CIPHER *ciphers[] = {fetch_reference(p, name), fetch_ours(p, name)};
    unsigned char *expected = calloc(1, length + 16);
    int n[2] = {0, 0}, right = 1;
    for (int i = 0; i < 2; i++) {
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        right = right && EVP_CipherInit_ex2(context, ciphers[i], key, iv, encrypt, NULL) &&
                EVP_CIPHER_CTX_set_padding(context, 0) &&
                EVP_CipherUpdate(context, i == 0 ? expected : out, &n[i], in, (int)length);
        EVP_CIPHER_CTX_free(context);
        EVP_CIPHER_free(ciphers[i]);
    }
    right = right && n[0] == n[1] && memcmp(out, expected, (size_t)n[0]) == 0;
    if (!right)
        fprintf(stderr, "# %s of %zu bytes is wrong, or fails\n", name, length);
    free(expected);
    return right;
}

int message_agrees(const struct providers *p, const char *name, size_t length)
{
    unsigned char *in = malloc(length), *out = malloc(length + 16);
    int right = update_agrees(p, name, 1, memset(in, 0x5a, length), out, length);
    free(in);
    free(out);
    return right;
}
