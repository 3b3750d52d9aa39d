/*
 * The parameters of contexts that tell of device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/device_params.h"

#include <string.h>

#include "provider/common/errors.h"

#define PARAM_DEVICE_MEMORY "device-memory"
#define PARAM_CUDA_STREAM "cuda-stream"

enum { STREAM_PER_THREAD = 2 }; /* CUDA's handle */

static const OSSL_PARAM own[] = {OSSL_PARAM_uint(PARAM_DEVICE_MEMORY, NULL),
                                 OSSL_PARAM_uint64(PARAM_CUDA_STREAM, NULL), OSSL_PARAM_END};

void device_params_list(OSSL_PARAM *list, size_t most, const OSSL_PARAM *theirs)
{
    size_t n = sizeof own / sizeof own[0] - 1;
    memcpy(list, own, n * sizeof own[0]);
    for (; theirs->key != NULL && n < most - 1; theirs++)
        list[n++] = *theirs;
    list[n] = own[sizeof own / sizeof own[0] - 1];
}

int device_params_read(struct provider *provider, const OSSL_PARAM params[], int has_memory,
                       int is_tls, struct device_params *p)
{
    const OSSL_PARAM *memory = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    const OSSL_PARAM *stream = OSSL_PARAM_locate_const(params, PARAM_CUDA_STREAM);
    *p = (struct device_params){.names_memory = memory != NULL, .names_stream = stream != NULL};
    if (memory != NULL && (!OSSL_PARAM_get_uint(memory, &p->memory) || p->memory > 1))
        error_raise(provider, ERROR_BAD_PARAMETER, PARAM_DEVICE_MEMORY " must be 0 or 1");
    else if (stream != NULL &&
             (!OSSL_PARAM_get_uint64(stream, &p->stream) || p->stream == STREAM_PER_THREAD))
        error_raise(provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " must be a CUstream, 0 for the legacy default stream;"
                                      " that of each thread is not one stream");
    else if (stream != NULL && memory != NULL && p->memory == 0)
        error_raise(provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " and " PARAM_DEVICE_MEMORY "=0 exclude each other");
    else if (is_tls && (stream != NULL || (memory != NULL ? p->memory != 0 : has_memory)))
        error_raise(provider, ERROR_DEVICE_MEMORY, "TLS records are the CPU's work");
    else
        return 1;
    return 0;
}

int device_params_write(OSSL_PARAM params[], int has_memory, const uint64_t *stream)
{
    OSSL_PARAM *memory = OSSL_PARAM_locate(params, PARAM_DEVICE_MEMORY);
    OSSL_PARAM *handle = OSSL_PARAM_locate(params, PARAM_CUDA_STREAM);
    return (memory == NULL || OSSL_PARAM_set_uint(memory, has_memory != 0)) &&
           (handle == NULL || stream == NULL || OSSL_PARAM_set_uint64(handle, *stream));
}
