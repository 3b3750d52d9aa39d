/*
 * OpenSSL as the command uses it: a library context of its own, with the default
 * provider and, where it is installed, ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_LIBRARY_H
#define GPUAES_TOOL_COMMON_LIBRARY_H

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdint.h>

/* Wherever gpuaes is there and has the algorithm. */
#define PREFER_GPUAES "?provider=gpuaes"

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

/*
 * Returns 1; 0 after a complaint where our provider is not loaded, and the environment demands it
 * or has a wrong value.
 */
int library_check(const struct library *library);

/*
 * Has the provider start its device, in the background, and measure: a context for AES makes it do
 * so.
 */
void library_start_device(const struct library *library);

/* A figure of our provider's statistics; 0 where it is not loaded. */
uint64_t library_figure(const struct library *library, const char *name);

#endif
