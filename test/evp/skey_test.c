/*
 * Opaque symmetric keys (EVP_SKEY): a cipher initialised with one does what it does with the
 * same bytes as a raw key. By the module's own dispatch functions with any libcrypto, and
 * through EVP where libcrypto has such keys (OpenSSL 3.5), found at run time so that a program
 * that was built on older headers tests it, too.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <openssl/core_dispatch.h>
#include <string.h>

#include "provider/common/core_3_5.h"
#include "test/support/providers.h"

enum { LENGTH = 40000, BLOCK = 16 };

static const unsigned char key_bytes[LONGEST_KEY + 1] =
    "an opaque key, of 16 to 32 bytes, and for XTS of twice as many..";
static const unsigned char iv[BLOCK] = "an IV, and a key";
static const unsigned char other_iv[BLOCK] = "and another one.";

static unsigned char plain[LENGTH], ours[LENGTH + BLOCK], reference[LENGTH + BLOCK];

/* ---- What is freed ------------------------------------------------------------------ */

static unsigned freed_with_key; /* blocks of memory that had the key in them when freed */

static void *count_malloc(size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return malloc(bytes);
}

static void *count_realloc(void *block, size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return realloc(block, bytes);
}

static void count_free(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    if (block != NULL && memmem(block, malloc_usable_size(block), key_bytes, BLOCK) != NULL)
        freed_with_key++;
    free(block);
}

/* ---- The reference ------------------------------------------------------------------- */

/* What the default provider makes of `plain`, with a raw key; the number of its bytes. */
static size_t encrypt_reference(const struct cipher_row *row, const unsigned char *first)
{
    EVP_CIPHER *cipher = fetch_reference(&test_providers, row->name);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;
    if (!EVP_EncryptInit_ex2(context, cipher, key_bytes, first, NULL) ||
        !EVP_EncryptUpdate(context, reference, &n, plain, LENGTH) ||
        !EVP_EncryptFinal_ex(context, reference + n, &last))
        tap_diag("the default provider fails");
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return (size_t)n + (size_t)last;
}

/* ---- By the dispatch functions ------------------------------------------------------- */

static struct {
    skeymgmt_free_fn *free;
    skeymgmt_import_fn *import;
    skeymgmt_export_fn *export;
    skeymgmt_import_settable_params_fn *settable;
} management;

static struct {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_update_fn *update;
    OSSL_FUNC_cipher_final_fn *final;
    cipher_skey_init_fn *init[2]; /* [1]: encrypts */
} cipher;

static int find_management(const char *name)
{
    static const struct wanted_function wanted[] = {
        {SKEYMGMT_FREE, &management.free},
        {SKEYMGMT_IMPORT, &management.import},
        {SKEYMGMT_EXPORT, &management.export},
        {SKEYMGMT_IMPORT_SETTABLE_PARAMS, &management.settable},
        {0, NULL}};
    return functions_find(test_providers.gpuaes, OPERATION_SKEYMGMT, name, wanted);
}

static int find_cipher(const char *name)
{
    static const struct wanted_function wanted[] = {{OSSL_FUNC_CIPHER_NEWCTX, &cipher.newctx},
                                                    {OSSL_FUNC_CIPHER_FREECTX, &cipher.freectx},
                                                    {OSSL_FUNC_CIPHER_UPDATE, &cipher.update},
                                                    {OSSL_FUNC_CIPHER_FINAL, &cipher.final},
                                                    {CIPHER_ENCRYPT_SKEY_INIT, &cipher.init[1]},
                                                    {CIPHER_DECRYPT_SKEY_INIT, &cipher.init[0]},
                                                    {0, NULL}};
    return functions_find(test_providers.gpuaes, OSSL_OP_CIPHER, name, wanted);
}

static void *provider_context(void)
{
    return OSSL_PROVIDER_get0_provider_ctx(test_providers.gpuaes);
}

/* As libcrypto keeps it in an EVP_SKEY; NULL if it is refused. */
static void *import_key(size_t bytes, int selection)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(SKEY_PARAM_RAW_BYTES, (void *)key_bytes, bytes),
        OSSL_PARAM_construct_end()};
    return management.import(provider_context(), selection, params);
}

/* With a key, or the one that the context has; 1 if it is what the default provider does. */
static int direct_is_right(void *context, const struct cipher_row *row, void *key,
                           const unsigned char *first, int encrypt)
{
    size_t bytes = encrypt_reference(row, first), n = 0, last = 0;
    const unsigned char *in = encrypt ? plain : reference, *out = encrypt ? reference : plain;
    size_t in_bytes = encrypt ? LENGTH : bytes, out_bytes = encrypt ? bytes : LENGTH;
    return cipher.init[encrypt](context, key, first, row->mode == ECB ? 0 : BLOCK, NULL) &&
           cipher.update(context, ours, &n, sizeof ours, in, in_bytes) &&
           cipher.final(context, ours + n, &last, sizeof ours - n) && n + last == out_bytes &&
           memcmp(ours, out, out_bytes) == 0;
}

/* A key of AES has 32 bytes at most. */
static const char *usual_kind(const struct cipher_row *row)
{
    return row->key_bytes > 32 ? "GENERIC-SECRET" : "AES";
}

static void test_direct_cipher(const struct cipher_row *row)
{
    if (!tap_ok(find_management(usual_kind(row)) && find_cipher(row->name),
                "functions: %s takes opaque keys", row->name))
        return;
    void *key = import_key(row->key_bytes, SKEYMGMT_SELECT_SECRET_KEY);
    void *context = cipher.newctx(provider_context());
    tap_ok(direct_is_right(context, row, key, iv, 0), "functions: %s decrypts with an opaque key",
           row->name);
    tap_ok(direct_is_right(context, row, key, iv, 1), "functions: %s encrypts with an opaque key",
           row->name);
    management.free(key); /* the context has a copy */
    tap_ok(direct_is_right(context, row, NULL, other_iv, 1),
           "functions: %s keeps the key where none is given, after its end", row->name);
    cipher.freectx(context);
}

static int is_key(const OSSL_PARAM params[], void *bytes)
{
    const OSSL_PARAM *p = OSSL_PARAM_locate_const(params, SKEY_PARAM_RAW_BYTES);
    return p != NULL && p->data_type == OSSL_PARAM_OCTET_STRING &&
           p->data_size == *(size_t *)bytes && memcmp(p->data, key_bytes, p->data_size) == 0;
}

static void test_direct_keys(void)
{
    size_t bytes = 24;
    if (!find_management("AES") || !find_cipher("AES-256-CBC")) {
        tap_ok(0, "functions: the module has them");
        return;
    }
    void *key = import_key(bytes, SKEYMGMT_SELECT_SECRET_KEY);
    tap_ok(management.export(key, SKEYMGMT_SELECT_SECRET_KEY, is_key, &bytes),
           "functions: a key is exported as it was imported");
    tap_ok(!management.export(key, 1, is_key, &bytes),
           "functions: no key is exported where it is not selected");
    management.free(key);
    management.free(NULL);
    tap_ok(OSSL_PARAM_locate_const(management.settable(provider_context()), SKEY_PARAM_RAW_BYTES) !=
               NULL,
           "functions: the parameter of an import is known");
    tap_ok(import_key(16, 1) == NULL, "functions: no key is imported where it is not selected");
    first_error();
    tap_ok(import_key(17, SKEYMGMT_SELECT_SECRET_KEY) == NULL && ERR_peek_error() != 0,
           "functions: an AES key of 17 bytes is refused, with an error");
    tap_ok(import_key(0, SKEYMGMT_SELECT_SECRET_KEY) == NULL, "functions: an empty key is refused");
    first_error();

    OSSL_PARAM none = OSSL_PARAM_construct_end();
    tap_ok(management.import(provider_context(), SKEYMGMT_SELECT_SECRET_KEY, &none) == NULL,
           "functions: an import without the bytes is refused");
    first_error();

    tap_ok(find_management("GENERIC-SECRET"), "functions: there are generic keys");
    key = import_key(17, SKEYMGMT_SELECT_SECRET_KEY);
    void *context = cipher.newctx(provider_context());
    tap_ok(key != NULL && !cipher.init[1](context, key, iv, sizeof iv, NULL),
           "functions: a cipher refuses a generic key of another length");
    first_error();
    cipher.freectx(context);
    management.free(key);

    key = import_key(32, SKEYMGMT_SELECT_SECRET_KEY);
    freed_with_key = 0;
    management.free(key);
    tap_ok(freed_with_key == 0, "functions: a key is cleansed when it is freed");
}

/* ---- Through EVP --------------------------------------------------------------------- */

typedef struct evp_skey SKEY; /* EVP_SKEY of OpenSSL 3.5 */

static struct {
    SKEY *(*import_raw)(OSSL_LIB_CTX *libctx, const char *management, unsigned char *key,
                        size_t bytes, const char *properties);
    void (*free)(SKEY *key);
    int (*get0_raw)(const SKEY *key, const unsigned char **bytes, size_t *length);
    SKEY *(*to_provider)(SKEY *key, OSSL_LIB_CTX *libctx, OSSL_PROVIDER *provider,
                         const char *properties);
    const char *(*provider_name)(const SKEY *key);
    int (*init)(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, SKEY *key,
                const unsigned char *first, size_t iv_bytes, int encrypt,
                const OSSL_PARAM params[]);
} evp;

/* 1, or 0 where libcrypto has no opaque keys. */
static int find_evp(void)
{
    static const char *const names[] = {"EVP_SKEY_import_raw_key",     "EVP_SKEY_free",
                                        "EVP_SKEY_get0_raw_key",       "EVP_SKEY_to_provider",
                                        "EVP_SKEY_get0_provider_name", "EVP_CipherInit_SKEY"};
    void *symbols[sizeof names / sizeof names[0]];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((symbols[i] = dlsym(RTLD_DEFAULT, names[i])) == NULL)
            return 0;
    memcpy(&evp, symbols, sizeof evp);
    return 1;
}

static SKEY *evp_key(OSSL_LIB_CTX *libctx, const char *name, size_t bytes, const char *properties)
{
    unsigned char copy[sizeof key_bytes];
    memcpy(copy, key_bytes, sizeof copy);
    return evp.import_raw(libctx, name, copy, bytes, properties);
}

/* The same through EVP. */
static int evp_is_right(EVP_CIPHER_CTX *context, const EVP_CIPHER *fetched,
                        const struct cipher_row *row, SKEY *key, const unsigned char *first,
                        int encrypt)
{
    size_t bytes = encrypt_reference(row, first);
    const unsigned char *in = encrypt ? plain : reference, *out = encrypt ? reference : plain;
    size_t in_bytes = encrypt ? LENGTH : bytes, out_bytes = encrypt ? bytes : LENGTH;
    int n = 0, last = 0;
    return evp.init(context, fetched, key, first, row->mode == ECB ? 0 : BLOCK, encrypt, NULL) &&
           EVP_CipherUpdate(context, ours, &n, in, (int)in_bytes) &&
           EVP_CipherFinal_ex(context, ours + n, &last) && (size_t)n + (size_t)last == out_bytes &&
           memcmp(ours, out, out_bytes) == 0;
}

static int evp_works(const struct cipher_row *row, const char *properties, SKEY *key)
{
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(test_providers.ours, row->name, properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int right = key != NULL && evp_is_right(context, fetched, row, key, iv, 0) &&
                evp_is_right(context, fetched, row, key, iv, 1);
    /* The key stays, the IV is another; the default provider does not survive a NULL. */
    if (right && row->mode != ECB && !stand_in())
        right = evp_is_right(context, NULL, row, NULL, other_iv, 1);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(fetched);
    return right;
}

/* An application that names no provider, with ours preferred by the default properties. */
static void test_evp_preferred(const struct cipher_row *row)
{
    const char *const kinds[] = {usual_kind(row), "GENERIC-SECRET", "AES-256-CBC"};
    for (size_t i = 0; i < (row->key_bytes > 32 ? 1 : sizeof kinds / sizeof kinds[0]); i++) {
        struct figures before = figures_get(&test_providers);
        SKEY *key = evp_key(test_providers.ours, kinds[i], row->key_bytes, NULL);
        tap_ok(evp_works(row, NULL, key), "EVP: %s with a key \"%s\"", row->name, kinds[i]);
        if (!stand_in())
            tap_ok(figure("gpu-bytes") > before.gpu_bytes, "and a GPU worked");
        evp.free(key);
    }
}

static int has_bytes(SKEY *key, size_t bytes)
{
    const unsigned char *raw = NULL;
    size_t length = 0;
    return key != NULL && evp.get0_raw(key, &raw, &length) && length == bytes &&
           memcmp(raw, key_bytes, bytes) == 0;
}

/* A key of the default provider, and one of ours, go to the other by EVP_SKEY_to_provider(). */
static void test_evp_between_providers(const char *kind)
{
    static const struct cipher_row row = {"AES-256-CBC", NULL, CBC, 32};
    SKEY *theirs = evp_key(test_providers.ours, kind, 32, "provider=default");
    SKEY *moved = evp.to_provider(theirs, test_providers.ours, test_providers.gpuaes, NULL);
    tap_ok(moved != NULL && strcmp(evp.provider_name(moved), "gpuaes") == 0 &&
               has_bytes(moved, 32) && evp_works(&row, "provider=gpuaes", moved),
           "EVP: a key \"%s\" of the default provider becomes ours", kind);
    SKEY *back = evp.to_provider(moved, test_providers.ours, test_providers.ours_default,
                                 "provider=default");
    tap_ok(back != NULL && strcmp(evp.provider_name(back), "default") == 0 && has_bytes(back, 32),
           "EVP: and one of the default provider again");
    evp.free(back);
    freed_with_key = 0;
    evp.free(moved);
    tap_ok(freed_with_key == 0, "EVP: our key is cleansed when it is freed");
    evp.free(theirs);
}

static void test_evp(void)
{
    if (!find_evp()) {
        tap_skip("EVP: this libcrypto has no opaque keys, which came with OpenSSL 3.5");
        return;
    }
    EVP_set_default_properties(test_providers.ours, "?provider=gpuaes");
    for (size_t i = 0; i < UNTAGGED_ROWS; i++)
        test_evp_preferred(&cipher_rows[i]);
    if (!stand_in()) {
        test_evp_between_providers("AES");
        test_evp_between_providers("GENERIC-SECRET");
    }
}

int main(void)
{
    struct tap_random random;
    if (!CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free)) {
        puts("Bail out! libcrypto has allocated memory already");
        return EXIT_FAILURE;
    }
    setenv("GPUAES_MIN_BYTES", "0", 0);
    test_providers = providers_load();
    tap_random_seed(&random);
    tap_random_bytes(&random, plain, sizeof plain);
    tap_diag("%s", OpenSSL_version(OPENSSL_VERSION));
    if (!stand_in()) {
        for (size_t i = 0; i < UNTAGGED_ROWS; i++)
            test_direct_cipher(&cipher_rows[i]);
        test_direct_keys();
    }
    test_evp();
    providers_unload(&test_providers);
    return tap_done();
}
