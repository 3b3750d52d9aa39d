/*
 * Copies between host memory and device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/copy.h"

#include "provider/common/big_stack.h"
#include "provider/common/errors.h"

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

static enum gpuaes_status run_copy(void *arg)
{
    const struct copy *copy = arg;
    return gpuaes_copy(copy->to, copy->from, copy->bytes);
}

int device_copy(const struct provider *provider, void *to, const void *from, size_t bytes)
{
    struct copy copy = {to, from, bytes};
    enum gpuaes_status status =
        bytes == 0 ? GPUAES_OK : run_on_big_stack(run_copy, &copy, GPUAES_WAIT);
    if (status == GPUAES_OK)
        return 1;
    if (status == GPUAES_BUSY)
        error_raise(provider, ERROR_CAPTURED,
                    "device memory cannot be used until that ends, but through a cuda-stream "
                    "that is not captured");
    else
        error_raise(provider,
                    status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_DEVICE_MEMORY,
                    "a copy of %zu bytes: %s", bytes, gpuaes_status_text(status));
    return 0;
}
