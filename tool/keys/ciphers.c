/*
 * The ciphers that the command can use.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/keys/ciphers.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 400, NAME_ROOM = 40, COLUMNS = 3 };

int ciphers_has(const char *name)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return cipher != NULL;
}

int ciphers_is_usable(const EVP_CIPHER *cipher)
{
    int mode = EVP_CIPHER_get_mode(cipher);
    return (EVP_CIPHER_get_flags(cipher) & (EVP_CIPH_FLAG_AEAD_CIPHER | EVP_CIPH_FLAG_CTS)) == 0 &&
           mode != EVP_CIPH_XTS_MODE && mode != EVP_CIPH_WRAP_MODE &&
           EVP_CIPHER_get_key_length(cipher) != 0;
}

struct names {
    char text[NAMES][NAME_ROOM];
    int count;
};

/* A name, unless it is an object identifier. */
static void add_name(const char *name, void *argument)
{
    struct names *names = argument;
    if (names->count == NAMES || (name[0] >= '0' && name[0] <= '9'))
        return;
    char *to = names->text[names->count++];
    (void)snprintf(to, NAME_ROOM, "%s", name);
    for (; *to != '\0'; to++)
        if (*to >= 'A' && *to <= 'Z')
            *to = (char)(*to - 'A' + 'a');
}

static void add_cipher(EVP_CIPHER *cipher, void *names)
{
    if (ciphers_is_usable(cipher))
        (void)EVP_CIPHER_names_do_all(cipher, add_name, names);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

void ciphers_print(void)
{
    static struct names names;
    /* The first fetch loads the default provider, if no other was loaded. */
    (void)ciphers_has("AES-256-CTR");
    EVP_CIPHER_do_all_provided(NULL, add_cipher, &names);
    qsort(names.text, (size_t)names.count, NAME_ROOM, compare);
    (void)printf("Supported ciphers:\n");
    for (int i = 0; i < names.count; i++) {
        int ends_line = i % COLUMNS == COLUMNS - 1 || i == names.count - 1;
        (void)printf("-%-25s%c", names.text[i], ends_line ? '\n' : ' ');
    }
}
