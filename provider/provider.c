/*
 * Entry and query: what OpenSSL sees of the module.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "provider/common/provider.h"

#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <stdio.h>

#include "cuda/gpuaes.h"
#include "provider/ciphers/base64/base64_cipher.h"
#include "provider/ciphers/base64/coders.h"
#include "provider/ciphers/dispatch.h"
#include "provider/common/big_stack.h"
#include "provider/common/config.h"
#include "provider/common/errors.h"
#include "provider/common/statistics.h"
#include "provider/keys/skey.h"

static OSSL_FUNC_provider_teardown_fn provider_teardown;
static OSSL_FUNC_provider_gettable_params_fn provider_gettable_params;
static OSSL_FUNC_provider_get_params_fn provider_get_params;
static OSSL_FUNC_provider_query_operation_fn provider_query_operation;

/* ---- Operations ------------------------------------------------------------------------ */

/*
 * gpuaes.on is for a preference beside one for another provider: a property may stand in a query
 * once, and a clause of a program's query replaces that of the default properties with its name.
 */
#define PROPERTIES "provider=gpuaes,gpuaes.on=yes"

static const OSSL_ALGORITHM algorithms[] = {
#define CIPHER_ROW(bits, MODE, room, names)                                                        \
    {names, PROPERTIES, ciphers[AES_##bits##_##MODE].functions, "AES-" #bits "-" #MODE " on CUDA"},
    CIPHERS(CIPHER_ROW)
#undef CIPHER_ROW
        {"BASE64", PROPERTIES, base64_cipher_functions, "Base64 on CUDA, as a keyless cipher"},
    {NULL, NULL, NULL, NULL}};

static const OSSL_ALGORITHM encoders[] = {
    {"OCTETS", PROPERTIES ",output=base64", base64_encoder_functions, "Base64 on CUDA"},
    {NULL, NULL, NULL, NULL}};

static const OSSL_ALGORITHM decoders[] = {
    {"OCTETS", PROPERTIES ",input=base64", base64_decoder_functions, "Base64 on CUDA"},
    {NULL, NULL, NULL, NULL}};

/*
 * The properties are those of the ciphers: an application that prefers our ciphers must get our
 * keys, too, since libcrypto refuses a key of another provider than the cipher's.
 */
static const OSSL_ALGORITHM skeymgmts[] = {
    {"AES:2.16.840.1.101.3.4.1", PROPERTIES, skey_aes_functions, "AES keys"},
    {"GENERIC-SECRET", PROPERTIES, skey_generic_functions, "Keys of any kind"},
    {NULL, NULL, NULL, NULL}};

static const OSSL_ALGORITHM *provider_query_operation(void *provider, int operation, int *no_cache)
{
    (void)provider;
    *no_cache = 0;
    switch (operation) {
    case OSSL_OP_CIPHER:
        return algorithms;
    case OSSL_OP_ENCODER:
        return encoders;
    case OSSL_OP_DECODER:
        return decoders;
    case OPERATION_SKEYMGMT:
        return skeymgmts;
    default:
        return NULL;
    }
}

/* ---- Parameters -------------------------------------------------------------------------- */

static const OSSL_PARAM gettable[] = {OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_NAME, NULL, 0),
                                      OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_VERSION, NULL, 0),
                                      OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, NULL, 0),
                                      OSSL_PARAM_int(OSSL_PROV_PARAM_STATUS, NULL),
#define FIGURE_PARAM(NAME, name, value) OSSL_PARAM_uint64(name, NULL),
                                      STATISTICS_FIGURES(FIGURE_PARAM)
#undef FIGURE_PARAM
                                          OSSL_PARAM_uint64(STATISTICS_DEVICES, NULL),
                                      OSSL_PARAM_END};

static const OSSL_PARAM *provider_gettable_params(void *provider)
{
    (void)provider;
    return gettable;
}

static int set_text(OSSL_PARAM params[], const char *key, const char *text)
{
    OSSL_PARAM *p = OSSL_PARAM_locate(params, key);
    return p == NULL || OSSL_PARAM_set_utf8_ptr(p, text);
}

static enum gpuaes_status count_devices(void *count)
{
    struct gpuaes_device_info info = {.struct_bytes = sizeof info};
    for (uint64_t *n = count; gpuaes_device((unsigned)*n, &info); ++*n)
        info.struct_bytes = sizeof info;
    return GPUAES_OK;
}

/* Without a thread for the call, none are counted. */
static int get_devices(OSSL_PARAM params[])
{
    OSSL_PARAM *p = OSSL_PARAM_locate(params, STATISTICS_DEVICES);
    uint64_t devices = 0;
    if (p == NULL)
        return 1;
    (void)run_on_big_stack(count_devices, &devices, 0);
    return OSSL_PARAM_set_uint64(p, devices);
}

static int provider_get_params(void *context, OSSL_PARAM params[])
{
    const struct provider *provider = context;
    OSSL_PARAM *p = OSSL_PARAM_locate(params, OSSL_PROV_PARAM_STATUS);
    if (p != NULL && !OSSL_PARAM_set_int(p, 1))
        return 0;
    return set_text(params, OSSL_PROV_PARAM_NAME, "AES and Base64 on NVIDIA GPUs") &&
           set_text(params, OSSL_PROV_PARAM_VERSION, PACKAGE_VERSION) &&
           set_text(params, OSSL_PROV_PARAM_BUILDINFO, provider->build) && get_devices(params) &&
           statistics_get(params);
}

/* ---- Beginning and end ------------------------------------------------------------- */

static void provider_teardown(void *context)
{
    struct provider *provider = context;
    cpu_close(&provider->cpu);
    OPENSSL_free(provider);
}

static const OSSL_DISPATCH functions[] = {
    FUNCTION(OSSL_FUNC_PROVIDER_TEARDOWN, provider_teardown),
    FUNCTION(OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, provider_gettable_params),
    FUNCTION(OSSL_FUNC_PROVIDER_GET_PARAMS, provider_get_params),
    FUNCTION(OSSL_FUNC_PROVIDER_QUERY_OPERATION, provider_query_operation),
    {0, NULL}};

static void learn_upcalls(struct provider *provider, const OSSL_DISPATCH *in)
{
    for (; in->function_id != 0; in++)
        switch (in->function_id) {
#define UPCALL(ID, name, type)                                                                     \
    case OSSL_FUNC_##ID:                                                                           \
        provider->name = OSSL_FUNC_##type(in);                                                     \
        break;
            UPCALL(CORE_GET_PARAMS, get_params, core_get_params)
            UPCALL(CORE_NEW_ERROR, new_error, core_new_error)
            UPCALL(CORE_SET_ERROR_DEBUG, set_error_debug, core_set_error_debug)
            UPCALL(CORE_VSET_ERROR, vset_error, core_vset_error)
            UPCALL(BIO_READ_EX, bio_read, BIO_read_ex)
            UPCALL(BIO_CTRL, bio_ctrl, BIO_ctrl)
            UPCALL(BIO_WRITE_EX, bio_write, BIO_write_ex)
#undef UPCALL
        default:
            break;
        }
}

static const void *object_of(void (*function)(void))
{
    Dl_info info;
    return dladdr((const void *)(uintptr_t)function, &info) ? info.dli_fbase : NULL;
}

/* Whether a function that the module is linked with is the core's own. */
static int is_of_core(const OSSL_DISPATCH *in, void (*function)(void))
{
    return object_of(in->function) == object_of(function);
}

/*
 * A program with a libcrypto linked into it brings another one in with us. That must not
 * end by itself at exit: it would before the program's, which then still tears down what
 * uses it (and what else has loaded it, such as the legacy provider).
 */
static void outlive_program(const OSSL_DISPATCH *in)
{
    if (!is_of_core(in, (void (*)(void))OPENSSL_version_major))
        (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

/* No CUDA call, and no thread: the process may be about to fork. */
static int open_provider(struct provider *provider)
{
    if (!config_read(provider))
        return 0;
    if (!cpu_open(&provider->cpu) || !learn_ciphers(&provider->cpu)) {
        (void)fprintf(stderr, "gpuaes: the default provider of libcrypto cannot be used\n");
        error_raise(provider, ERROR_NO_DEFAULT_PROVIDER, "it is needed for the CPU's part");
        return 0;
    }
    (void)snprintf(provider->build, sizeof provider->build, "gpuaes %s, CUDA %s", PACKAGE_VERSION,
                   gpuaes_build());
    statistics_begin(provider->settings.log != LOG_OFF, provider->settings.log == LOG_PROGRESS);
    return 1;
}

OSSL_provider_init_fn OSSL_provider_init;

__attribute__((visibility("default"))) int OSSL_provider_init(const OSSL_CORE_HANDLE *core,
                                                              const OSSL_DISPATCH *in,
                                                              const OSSL_DISPATCH **out,
                                                              void **context)
{
    outlive_program(in);
    struct provider *provider = OPENSSL_zalloc(sizeof *provider);
    if (provider == NULL)
        return 0;
    provider->core = core;
    learn_upcalls(provider, in);
    errors_begin(provider, is_of_core(in, (void (*)(void))ERR_load_strings));
    if (!open_provider(provider)) {
        provider_teardown(provider);
        return 0;
    }
    *out = functions;
    *context = provider;
    return 1;
}
