/*
 * OpenSSL as info and doctor use it: a library context of its own, with the default
 * provider and, where it is installed, ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_LIBRARY_H
#define GPUAES_TOOL_COMMON_LIBRARY_H

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdint.h>

struct library {
    OSSL_LIB_CTX *context;
    OSSL_PROVIDER *base, *gpuaes; /* gpuaes: NULL where the module cannot be loaded */
    char why_not[300];            /* it cannot */
};

/* With both providers, or the default one alone. 1, or 0 where not even that can be had; it says
 * so.
 */
int library_open(struct library *library);
void library_close(struct library *library);

/* A figure of our provider's statistics; 0 where it is not loaded. */
uint64_t library_figure(const struct library *library, const char *name);

#endif
