/*
 * The ciphers that the command can use: those of OpenSSL's default provider that work in a
 * stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_KEYS_CIPHERS_H
#define GPUAES_TOOL_KEYS_CIPHERS_H

#include <openssl/evp.h>

/* Whether there is a cipher of this name, usable here or not. */
int ciphers_has(const char *name);

/* 0 for AEAD, XTS, key wrap and other ciphers that openssl enc's format has no place for. */
int ciphers_is_usable(const EVP_CIPHER *cipher);

/* Prints the names of all usable ones, as `openssl enc -list` does. */
void ciphers_print(void);

#endif
