/*
 * The provider's context: one per library context that loads the module.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_PROVIDER_H
#define GPUAES_PROVIDER_COMMON_PROVIDER_H

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/provider.h>

#include "provider/common/default_ciphers.h"
#include "provider/common/settings.h"

/* A row of a dispatch table. */
#define FUNCTION(id, function)                                                                     \
    {                                                                                              \
        (id), (void (*)(void))(function)                                                           \
    }

struct provider {
    const OSSL_CORE_HANDLE *core;

    /* Upcalls of the core; see provider-base(7). */
    OSSL_FUNC_core_get_params_fn *get_params;
    OSSL_FUNC_core_new_error_fn *new_error;
    OSSL_FUNC_core_set_error_debug_fn *set_error_debug;
    OSSL_FUNC_core_vset_error_fn *vset_error;
    OSSL_FUNC_BIO_read_ex_fn *bio_read;
    OSSL_FUNC_BIO_ctrl_fn *bio_ctrl;
    OSSL_FUNC_BIO_write_ex_fn *bio_write;

    int error_library; /* see errors_begin(); 0: errors bring their sentences along */

    struct settings settings;
    struct cpu cpu;
    char build[160]; /* the provider's "buildinfo" */
};

#endif
