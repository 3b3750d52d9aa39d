/*
 * Key and IV, as openssl enc makes them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/keys/key.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "tool/common/message.h"

int key_read_hex(const char *name, const char *hex, unsigned char *to, int bytes)
{
    size_t digits = strlen(hex), wanted = 2 * (size_t)bytes;
    for (const char *p = hex; *p != '\0'; p++)
        if (OPENSSL_hexchar2int((unsigned char)*p) < 0)
            return complain("%s: expected %zu hexadecimal digits, but character %zu is none", name,
                            wanted, (size_t)(p - hex) + 1);
    if (digits != wanted)
        (void)complain(
            "warning: %s has %zu hexadecimal digits, expected %zu: %s", name, digits, wanted,
            digits > wanted ? "the rest is ignored" : "zeros take the place of the rest");
    memset(to, 0, (size_t)bytes);
    for (size_t i = 0; i < digits && i < wanted; i++)
        to[i / 2] |=
            (unsigned char)(OPENSSL_hexchar2int((unsigned char)hex[i]) << (i % 2 == 0 ? 4 : 0));
    return 1;
}

static int by_pbkdf2(struct key_material *material, const EVP_CIPHER *cipher, const EVP_MD *md,
                     const char *password, int iterations)
{
    unsigned char both[EVP_MAX_KEY_LENGTH + EVP_MAX_IV_LENGTH];
    int key_bytes = EVP_CIPHER_get_key_length(cipher), iv_bytes = EVP_CIPHER_get_iv_length(cipher);
    int ok = PKCS5_PBKDF2_HMAC(password, (int)strlen(password),
                               material->salt_bytes != 0 ? material->salt : NULL,
                               material->salt_bytes, iterations, md, key_bytes + iv_bytes, both);
    if (ok) {
        memcpy(material->key, both, (size_t)key_bytes);
        memcpy(material->iv, both + key_bytes, (size_t)iv_bytes);
    }
    OPENSSL_cleanse(both, sizeof both);
    return ok;
}

int key_derive(struct key_material *material, const EVP_CIPHER *cipher, const EVP_MD *md,
               const char *password, int iterations)
{
    int ok;
    if (iterations != 0) {
        ok = by_pbkdf2(material, cipher, md, password, iterations);
    } else {
        (void)complain("warning: deprecated key derivation, weak against password guessing; use "
                       "-pbkdf2 or -iter");
        ok = EVP_BytesToKey(cipher, md, material->salt_bytes != 0 ? material->salt : NULL,
                            (const unsigned char *)password, (int)strlen(password), 1,
                            material->key, material->iv) > 0;
    }
    return ok || complain_openssl("no key can be made from the password");
}

static void print_bytes(const char *name, const unsigned char *bytes, int count)
{
    if (count <= 0)
        return;
    (void)printf("%s", name);
    for (int i = 0; i < count; i++)
        (void)printf("%02X", bytes[i]);
    (void)printf("\n");
}

void key_print(const struct key_material *material, const EVP_CIPHER *cipher)
{
    print_bytes("salt=", material->salt, material->salt_bytes);
    print_bytes("key=", material->key, EVP_CIPHER_get_key_length(cipher));
    print_bytes("iv =", material->iv, EVP_CIPHER_get_iv_length(cipher));
    (void)fflush(stdout);
}
