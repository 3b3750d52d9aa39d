/*
 * The parameters of contexts that tell of device memory: `device-memory` and `cuda-stream`.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_DEVICE_PARAMS_H
#define GPUAES_PROVIDER_COMMON_DEVICE_PARAMS_H

#include <openssl/params.h>
#include <stdint.h>

#include "provider/common/provider.h"

/* What a call names of them; what it does not name stays as it is. */
struct device_params {
    int names_memory, names_stream;
    unsigned memory; /* 0 or 1 */
    uint64_t stream; /* handle, as it was given */
};

/* Fills a list of `most` parameters: these two, those of `theirs` for which there is room, the end.
 */
void device_params_list(OSSL_PARAM *list, size_t most, const OSSL_PARAM *theirs);

/*
 * Reads them. `has_memory`: the context works on device memory so far; `is_tls`: on TLS records.
 * Returns 0 with an error raised for a value that cannot be set.
 */
int device_params_read(struct provider *provider, const OSSL_PARAM params[], int has_memory,
                       int is_tls, struct device_params *read);

/* Writes them where `params` has them. `stream`: the handle, or NULL for none. Returns 0 on error.
 */
int device_params_write(OSSL_PARAM params[], int has_memory, const uint64_t *stream);

#endif
