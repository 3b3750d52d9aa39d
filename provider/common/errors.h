/*
 * Our own errors. Those of the default provider's functions stand as they are.
 *
 * The sentences are not given to the core by OSSL_FUNC_PROVIDER_GET_REASON_STRINGS: it unloads them
 * as it frees the provider, which crashes after OPENSSL_cleanup(), and an exit handler or a
 * destructor may free the last object of a provider there. So they are loaded once and are never
 * unloaded.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_ERRORS_H
#define GPUAES_PROVIDER_COMMON_ERRORS_H

#include <openssl/core.h>

/* E(name, number, sentence). Numbers are ours, and are not used again. */
#define ERROR_REASONS(E)                                                                           \
    E(BAD_SETTING, 1, "bad setting")                                                               \
    E(NO_DEFAULT_PROVIDER, 2, "the default provider cannot be used")                               \
    E(NO_DEVICE, 3, "no GPU can be used")                                                          \
    E(OUTPUT_UNDEFINED, 4, "the GPU failed and the output buffer is undefined")                    \
    E(BAD_DEVICE_RANGE, 5, "a device buffer extends past the end of its allocation")               \
    E(OUTPUT_TOO_SMALL, 6, "output buffer too small")                                              \
    E(BAD_BASE64, 7, "invalid Base64")                                                             \
    E(BAD_PARAMETER, 8, "bad parameter")                                                           \
    E(OUT_OF_MEMORY, 10, "out of memory")                                                          \
    E(NOT_INITIALISED, 11, "not initialised")                                                      \
    E(DEVICE_MEMORY, 13, "device memory cannot be used here")                                      \
    E(CAPTURED, 15, "a CUDA graph is being captured")                                              \
    E(READ_FAILED, 16, "reading the text failed")                                                  \
    E(OUT_OF_ORDER, 17, "calls out of order")                                                      \
    E(TOO_LONG, 18, "the message is too long")

enum error_reason {
#define ERROR_ENUM(name, number, sentence) ERROR_##name = (number),
    ERROR_REASONS(ERROR_ENUM)
#undef ERROR_ENUM
};

struct provider;

/*
 * Chooses how errors of this provider get their sentences: by a number where the core's
 * ERR_load_strings() is the one that the module is linked with (`knows_sentences`), else each error
 * has its sentence in its detail. Call it before any error is raised.
 */
void errors_begin(struct provider *provider, int knows_sentences);

/* Puts an error with a printf-style detail into the application's queue. */
#define error_raise(provider, reason, ...)                                                         \
    error_raise_at((provider), (reason), __FILE__, __LINE__, __func__, __VA_ARGS__)
void error_raise_at(const struct provider *provider, enum error_reason reason, const char *file,
                    int line, const char *function, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
