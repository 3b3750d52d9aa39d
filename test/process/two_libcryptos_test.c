/*
 * A client with a libcrypto of its own, linked statically: the module brings the shared
 * one along. All ciphers, refusals, a thread and unloading work as with one copy. The same
 * source is linked a second time so that its copy is exported, and stands in for the
 * module's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "test/support/providers.h"

enum { LENGTH = 200000 };

/* Where the function of that copy is from. */
static int is_in_program(void *function)
{
    Dl_info own, other;
    return dladdr((void *)(uintptr_t)&is_in_program, &own) && dladdr(function, &other) &&
           own.dli_fbase == other.dli_fbase;
}

static int message_is_right(const struct cipher_row *row, int encrypt)
{
    static const unsigned char key[32] = "a key of two libraries", iv[16] = "an IV";
    unsigned char *in = calloc(1, LENGTH), *out[2] = {malloc(LENGTH + 32), malloc(LENGTH + 32)};
    EVP_CIPHER *cipher[2] = {fetch_ours(&test_providers, row->name),
                             fetch_reference(&test_providers, row->name)};
    int n[2] = {0}, last[2] = {0}, done[2], right;
    unsigned long error[2];
    in[0] = 1;
    for (int i = 0; i < 2; i++) {
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        done[i] = EVP_CipherInit_ex2(context, cipher[i], key, iv, encrypt, NULL) &&
                  EVP_CipherUpdate(context, out[i], &n[i], in, LENGTH) &&
                  EVP_CipherFinal_ex(context, out[i] + n[i], &last[i]);
        error[i] = first_error(); /* a padded decryption of this fails */
        EVP_CIPHER_CTX_free(context);
        EVP_CIPHER_free(cipher[i]);
    }
    /* The default provider that the module calls has the other copy's queue of errors. */
    right = done[0] == done[1] && n[0] == n[1] && last[0] == last[1] &&
            (error[0] == error[1] || error[0] == 0) &&
            !memcmp(out[0], out[1], (size_t)n[0] + (size_t)last[0]);
    free(in);
    free(out[0]);
    free(out[1]);
    return right;
}

static void *all_ciphers(void *unused)
{
    int right = 1;
    (void)unused;
    for (size_t i = 0; i < CIPHER_ROWS; i++)
        right &= message_is_right(&cipher_rows[i], 0) && message_is_right(&cipher_rows[i], 1);
    return right ? &test_providers : NULL;
}

/*
 * A setting that is refused: the error is in the program's queue. A copy that is not exported does
 * not know our sentences, so the detail has the whole of it.
 */
static int refusal_is_told(void)
{
    static const char detail[] = "policy has the value \"wrong\", expected ";
    static const char whole[] = "gpuaes: bad setting: policy has the value \"wrong\", expected ";
    int is_exported = is_in_program(dlsym(RTLD_DEFAULT, "ERR_load_strings")), flags = 0;
    const char *expected = is_exported ? detail : whole, *got = "", *reason;
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    setenv("GPUAES_POLICY", "wrong", 1);
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(context, "gpuaes");
    unsetenv("GPUAES_POLICY");
    reason = ERR_reason_error_string(ERR_peek_error_data(&got, &flags));
    int told = provider == NULL && (flags & ERR_TXT_STRING) != 0 &&
               !strncmp(got, expected, strlen(expected)) &&
               (!is_exported || (reason != NULL && !strcmp(reason, "bad setting")));
    if (!told)
        tap_diag("%s: %s", reason != NULL ? reason : "no reason", got);
    ERR_clear_error();
    OSSL_LIB_CTX_free(context);
    return told;
}

int main(void)
{
    pthread_t thread;
    void *right = NULL;
    setenv("GPUAES_MIN_BYTES", "0", 0);
    tap_ok(is_in_program((void *)(uintptr_t)&EVP_CipherUpdate),
           "the program has its own libcrypto");
    test_providers = providers_load();
    if (stand_in())
        tap_skip("the default provider brings no library");
    else
        tap_ok(dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD) != NULL,
               "the module has the shared one");
    tap_ok(all_ciphers(NULL) != NULL, "all ciphers: right");
    pthread_create(&thread, NULL, all_ciphers, NULL);
    pthread_join(thread, &right);
    tap_ok(right != NULL, "in a thread: right");
    if (stand_in())
        tap_skip("the default provider refuses nothing");
    else
        tap_ok(refusal_is_told(), "a refusal is told");
    providers_unload(&test_providers);
    test_providers = providers_load();
    tap_ok(all_ciphers(NULL) != NULL, "unloaded and loaded again: right");
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(figure("launches") > 0, "through kernels");
    providers_unload(&test_providers);
    return tap_done();
}
