/*
 * Statuses in words.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/gpuaes.h"

const char *gpuaes_status_text(enum gpuaes_status status)
{
    switch (status) {
    case GPUAES_OK:
        return "success";
    case GPUAES_NOT_READY:
        return "no device is ready";
    case GPUAES_BUSY:
        return "the device is busy";
    case GPUAES_NO_MEMORY:
        return "device or pinned memory is short";
    case GPUAES_BAD_ARGUMENT:
        return "bad argument";
    case GPUAES_BAD_RANGE:
        return "a device range extends past the end of its allocation";
    case GPUAES_BAD_INPUT:
        return "invalid Base64";
    case GPUAES_BAD_TAG:
        return "the tag is wrong";
    case GPUAES_FAULT:
        return "the device failed";
    case GPUAES_UNDEFINED:
        return "the device failed and the output is undefined";
    }
    return "unknown status";
}
