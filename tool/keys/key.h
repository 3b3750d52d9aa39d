/*
 * Key and IV, from hexadecimal digits or from a password, as openssl enc makes them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_KEYS_KEY_H
#define GPUAES_TOOL_KEYS_KEY_H

#include <openssl/evp.h>

#define SALT_MAGIC "Salted__"
enum {
    SALT_MAGIC_BYTES = 8,
    SALT_BYTES = 8,       /* by default */
    SALT_MOST_BYTES = 16, /* with -saltlen */
    SALT_HEADER_MOST = SALT_MAGIC_BYTES + SALT_MOST_BYTES
};

struct key_material {
    unsigned char key[EVP_MAX_KEY_LENGTH], iv[EVP_MAX_IV_LENGTH];
    unsigned char salt[SALT_MOST_BYTES];
    int salt_bytes; /* 0: without a salt */
};

/*
 * Reads `bytes` of hexadecimal digits, the value of the option `name`. As openssl enc
 * does, it fills up with zeros, or cuts, and says so. 0 where a digit is none.
 */
int key_read_hex(const char *name, const char *hex, unsigned char *to, int bytes);

/* Derivation: iterations of PBKDF2, or 0 for the old EVP_BytesToKey(). */
int key_derive(struct key_material *material, const EVP_CIPHER *cipher, const EVP_MD *md,
               const char *password, int iterations);

/* Prints salt, key and IV as -p and -P do. */
void key_print(const struct key_material *material, const EVP_CIPHER *cipher);

#endif
