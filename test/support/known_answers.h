/*
 * What the tests of known answers have in common: vectors in hexadecimal digits, and the names by
 * which a cipher is fetched.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_KNOWN_ANSWERS_H
#define GPUAES_TEST_KNOWN_ANSWERS_H

#include "test/support/providers.h"

/* Writes the bytes that the digits are; none where `hex` is NULL. Returns how many. */
size_t from_hex(unsigned char *to, const char *hex);

/* 1 if the cipher is one of the provider under test. */
int is_ours(const EVP_CIPHER *cipher);

/*
 * Asserts that each name of the default provider's cipher, and its object identifier where it has
 * one, fetches ours, and that both have the same flags, mode and lengths.
 */
void check_names(const char *name, const char *oid, size_t key_bytes);

#endif
