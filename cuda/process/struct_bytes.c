/*
 * Structs of gpuaes.h that begin with struct_bytes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/process/struct_bytes.h"

#include <string.h>

#include "base/minmax.h"

/* Much more than any release will have: a struct that says so was not initialised. */
enum { MOST = 4096 };

/* Returns struct_bytes; 0 where that is out of its range. */
static size_t bytes_of(const void *given)
{
    size_t bytes = 0;
    if (given != NULL)
        memcpy(&bytes, given, sizeof bytes);
    return bytes < sizeof bytes || bytes > MOST ? 0 : bytes;
}

int struct_take(void *own, size_t own_bytes, const void *given)
{
    const size_t bytes = bytes_of(given);
    if (bytes == 0)
        return 0;
    for (size_t i = own_bytes; i < bytes; i++)
        if (((const unsigned char *)given)[i] != 0)
            return 0;
    memset(own, 0, own_bytes);
    memcpy(own, given, min_u64(bytes, own_bytes));
    memcpy(own, &own_bytes, sizeof own_bytes);
    return 1;
}

int struct_give(void *given, const void *own, size_t own_bytes)
{
    const size_t bytes = bytes_of(given);
    if (bytes == 0)
        return 0;
    memset(given, 0, bytes);
    memcpy(given, own, min_u64(bytes, own_bytes));
    memcpy(given, &bytes, sizeof bytes);
    return 1;
}
