/*
 * Vectors and names for the tests of known answers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/known_answers.h"

size_t from_hex(unsigned char *to, const char *hex)
{
    size_t length = hex ? strlen(hex) / 2 : 0;
    unsigned byte;
    for (size_t i = 0; i < length; i++) {
        sscanf(hex + 2 * i, "%2x", &byte);
        to[i] = (unsigned char)byte;
    }
    return length;
}

int is_ours(const EVP_CIPHER *cipher)
{
    return cipher && !strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)),
                             stand_in() ? "default" : "gpuaes");
}

static void check_name(const char *name, void *argument)
{
    EVP_CIPHER *cipher = fetch_ours(&test_providers, name);

    tap_ok(is_ours(cipher) && EVP_CIPHER_is_a(cipher, (const char *)argument),
           "\"%s\" fetches our %s", name, (const char *)argument);
    EVP_CIPHER_free(cipher);
}

void check_names(const char *name, const char *oid, size_t key_bytes)
{
    EVP_CIPHER *reference = fetch_reference(&test_providers, name);
    EVP_CIPHER *ours = fetch_ours(&test_providers, name);

    EVP_CIPHER_names_do_all(reference, check_name, (void *)(uintptr_t)name);
    if (oid)
        check_name(oid, (void *)(uintptr_t)name);
    tap_ok(ours && EVP_CIPHER_get_nid(ours) == EVP_CIPHER_get_nid(reference) &&
               EVP_CIPHER_get_flags(ours) == EVP_CIPHER_get_flags(reference) &&
               EVP_CIPHER_get_mode(ours) == EVP_CIPHER_get_mode(reference) &&
               EVP_CIPHER_get_block_size(ours) == EVP_CIPHER_get_block_size(reference) &&
               EVP_CIPHER_get_key_length(ours) == (int)key_bytes &&
               EVP_CIPHER_get_iv_length(ours) == EVP_CIPHER_get_iv_length(reference),
           "%s has the nid, flags, mode and lengths of the default's", name);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
}
